package incidents

import (
	"context"
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/people/report"
	"github.com/andonhq/andon/internal/sheet"
)

// Kept keeps the incidents of all tenants, as package records has it.
type Kept interface {
	Open(context.Context, andon.TenantID) ([]*people.Incident, error)
	Changed(
		ctx context.Context, tenant andon.TenantID, after uint64,
	) (records.IncidentChanges, error)
	Get(ctx context.Context, tenant andon.TenantID, id string) (people.Incident, error)
	Past(
		ctx context.Context, tenant andon.TenantID, q records.PastQuery,
	) ([]people.Incident, error)
	During(
		ctx context.Context, tenant andon.TenantID, span andon.Span,
		only func(andon.DeviceID) bool, do func([]people.Incident) error,
	) (retired []andon.Time, err error)
	OfDevice(
		ctx context.Context, tenant andon.TenantID, device andon.DeviceID, span andon.Span,
		limit int,
	) ([]people.Incident, error)
	Follow(ctx context.Context, tenant andon.TenantID, all []people.Incident) error
	Act(
		ctx context.Context, tenant andon.TenantID, id string, a people.Action,
	) (people.Incident, error)
}

// mostReported is of how many incidents a report is made at most.
const mostReported = 100_000

// Within reads the incidents that a report of a span is about, as the log has them now: those of
// one operator, of "none", or, where that is absent, of all, with when devices of it were retired.
func Within(
	ctx context.Context, kept Kept, tenant andon.TenantID, span andon.Span,
	selected *groups.Selected, operator andon.PersonID,
) (all []report.Incident, retired []andon.Time, err error) {
	if span.Empty() {
		return nil, nil, andon.AtField("query.from", "from %s is after %s, when the report ends",
			span.From, span.To)
	}
	none := operator == andon.NoPerson
	do := func(some []people.Incident) error {
		for i := range some {
			if is := some[i].Operator; operator != "" && is != operator && !(none && is == "") {
				continue
			}
			all = append(append(all, report.Of(&some[i])), report.Parts(&some[i])...)
		}
		if len(all) > mostReported {
			return andon.Errorf(andon.TooLarge,
				"the span has more than %d incidents: ask for a shorter one", mostReported)
		}
		return nil
	}
	retired, err = kept.During(ctx, tenant, span, selected.Contains, do)
	if operator != "" {
		retired = nil // of how many devices is not known
	}
	return all, retired, err
}

// CSV writes the rows of a report, each of an operator, a device or an hour; without per its
// figures, each in a row.
func CSV(per string, r *client.IncidentReport) []byte {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	lines := [][]string{{per, "incidents", "per_hour", "seconds"}}
	for _, row := range r.Rows {
		lines = append(lines, []string{
			sheet.Cell(row.Name), strconv.Itoa(row.Incidents), number(row.PerHour),
			number(row.Seconds),
		})
	}
	if per == "" {
		lines = [][]string{{"figure", "value"}}
		for _, f := range figures(r) {
			text := "" // it has no basis
			if f.value != nil {
				text = number(*f.value)
			}
			lines = append(lines, []string{f.name, text})
		}
	}
	var text strings.Builder
	_ = csv.NewWriter(&text).WriteAll(lines) // a Builder takes all
	return []byte(text.String())
}

type figure struct {
	name  string
	value *float64
}

func figures(r *client.IncidentReport) []figure {
	of := func(n int) *float64 { return new(float64(n)) }
	all := []figure{
		{"devices", of(r.Devices)}, {"incidents", of(r.Incidents)}, {"per_hour", &r.PerHour},
		{"floods", of(len(r.Floods))}, {"chattering", of(len(r.Chattering))},
		{"stale", of(len(r.Stale))}, {"availability", r.Availability}, {"mtbf", r.MTBF},
		{"mttr", r.MTTR},
	}
	for i, t := range []*client.IncidentTimes{r.ToAcknowledge, r.ToReturn} {
		name := []string{"to_acknowledge", "to_return"}[i]
		median, p90 := figure{name: name + "_median"}, figure{name: name + "_p90"}
		if t != nil {
			median.value, p90.value = &t.Median, &t.P90
		}
		all = append(all, median, p90)
	}
	return all
}
