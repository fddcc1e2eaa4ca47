package rows

import (
	"context"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared"
)

// sortEntries sorts entries in an order of the log.
func sortEntries(entries []andon.Entry, states *andon.StateSet, o andon.Order) {
	slices.SortFunc(entries, func(a, b andon.Entry) int {
		if o == andon.Desc {
			a, b = b, a
		}
		return a.Key(states).Compare(b.Key(states))
	})
}

// OperatorHour returns the entries of an operator in an hour that a query selects, in its order.
func (s Reader) OperatorHour(
	ctx context.Context, t *Tenant, operator andon.PersonID, hour uint32, q andon.EventQuery,
) ([]andon.Entry, error) {
	ask := cql.Ask("SELECT device FROM hints_by_operator "+
		"WHERE tenant = ? AND operator = ? AND hour = ?", 3)
	devices, err := cql.Texts[andon.DeviceID](ctx, s.DB, ask, t.Key, string(operator), int(hour))
	if err != nil {
		return nil, err
	}
	over := func(device andon.DeviceID) bool { return !t.Purged.Present(device) }
	devices = slices.DeleteFunc(devices, over)
	within := q
	within.Span = q.Span.Since(andon.HourStart(hour)).Until(andon.HourStart(hour+1) - 1)
	found := make([][]andon.Entry, len(devices))
	err = shared.Parallel(ctx, len(devices), func(ctx context.Context, i int) (err error) {
		theirs := s.Operators(t, devices[i], q.Order).only(operator)
		found[i], err = seq.Collect(s.Walk(ctx, t, devices[i], within, theirs))
		return err
	})
	events := slices.Concat(found...)
	sortEntries(events, t.Record.States, q.Order)
	return events, err
}

// SupervisorDay returns the entries of a day that are escalated to a supervisor and that a query
// selects, in its order.
func (s Reader) SupervisorDay(
	ctx context.Context, t *Tenant, supervisor andon.PersonID, day uint32, q andon.EventQuery,
) ([]andon.Entry, error) {
	entries, err := s.EscalatedOn(ctx, t, supervisor, day)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e andon.Entry) bool {
		return !q.Admits(e.Key(t.Record.States))
	})
	sortEntries(entries, t.Record.States, q.Order)
	var events []andon.Entry
	for some := range slices.Chunk(entries, shared.Concurrency) {
		found, err := shared.Found(ctx, some, func(
			ctx context.Context, of andon.Entry,
		) (*andon.Entry, error) {
			e, err := s.Entry(ctx, t, of.Device, of.Time, of.State)
			if e != nil && (e.Withdrawn != nil || e.EscalatedTo != supervisor) {
				e = nil
			}
			return e, err
		})
		if events = append(events, found...); err != nil || len(events) >= q.Limit {
			return events, err
		}
	}
	return events, nil
}

// EscalatedOn returns the entries of a day that may be escalated to a supervisor, without content.
func (s Reader) EscalatedOn(
	ctx context.Context, t *Tenant, supervisor andon.PersonID, day uint32,
) ([]andon.Entry, error) {
	var e andon.Entry
	var entries []andon.Entry
	ask := cql.Ask("SELECT time, state, device FROM hints_by_supervisor "+
		"WHERE tenant = ? AND supervisor = ? AND day = ?", 3)
	args := []any{t.Key, string(supervisor), int(day)}
	err := s.DB.Each(ctx, ask, args, []any{&e.Time, &e.State, &e.Device}, func() {
		if t.Purged.Present(e.Device) {
			entries = append(entries, e)
		}
	})
	return entries, err
}
