package documents

import (
	"context"
	"maps"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/people/records"
)

// Agenda is what is planned within a span of time.
type Agenda struct {
	Maintenance []AgendaWindow `json:"maintenance" doc:"by name, then by time"`
	Shifts      []AgendaShift  `json:"shifts" doc:"by schedule, then by time; cut to the span"`
}

// AgendaWindow is one time of a window of maintenance, which may repeat.
type AgendaWindow struct {
	Name string     `json:"name"`
	From andon.Time `json:"from"`
	To   andon.Time `json:"to"`
}

// AgendaShift is a shift of a schedule.
type AgendaShift struct {
	Schedule string `json:"schedule"`
	client.Shift
}

// Plan says when devices are in maintenance, and who is on call, within a span: four weeks from
// now on unless it is given.
func Plan(
	ctx context.Context, kept *records.Documents, tenant andon.TenantID, span andon.Span,
	now andon.Time,
) (is Agenda, err error) {
	const day = andon.Duration(86_400_000_000)
	if span.From == 0 {
		span.From = now
	}
	if span.To == 0 {
		span.To = span.From.Add(28 * day)
	}
	if span.To <= span.From || span.To.Sub(span.From) > 92*day {
		return is, andon.AtField("query.to", "to is after from, by 92d at most")
	}
	known, err := kept.Known(ctx, tenant)
	if err != nil {
		return is, err
	}
	is = Agenda{Maintenance: []AgendaWindow{}, Shifts: []AgendaShift{}}
	for _, m := range known.Maintenance {
		for _, w := range m.Within(span) {
			is.Maintenance = append(is.Maintenance, AgendaWindow{m.Name, w.From, w.To})
		}
	}
	const most = 10_000 // shifts of a schedule: those of an hour each are 2,208
	for _, name := range slices.Sorted(maps.Keys(known.Rosters)) {
		for _, s := range known.Rosters[name].Shifts(span.From, span.To, most) {
			is.Shifts = append(is.Shifts, AgendaShift{name, client.Shift(s)})
		}
	}
	return is, nil
}
