package cassandrastore

import (
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared"
)

// OperatorEvents is of andon.Log. It goes hour by hour over the devices that have entries of the
// operator in that hour.
func (s *Store) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	hour := func(
		ctx context.Context, t *tenant, u unit, q andon.EventQuery,
	) ([]andon.Entry, error) {
		return s.operatorHour(ctx, t, operator, u.number, q)
	}
	return s.person(ctx, id, ofOperator, string(operator), andon.Time.Hour, q, hour)
}

// SupervisorEvents is of andon.Log. It goes day by day over the entries that were ever escalated to
// the supervisor.
func (s *Store) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	day := func(
		ctx context.Context, t *tenant, u unit, q andon.EventQuery,
	) ([]andon.Entry, error) {
		return s.supervisorDay(ctx, t, supervisor, u.number, q)
	}
	return s.person(ctx, id, ofSupervisor, string(supervisor), andon.Time.Day, q, day)
}

// person returns what read gives for each unit of a person's directory, in order. read gives the
// entries of a unit in the order of the query, the first Limit of them at least.
func (s *Store) person(
	ctx context.Context, id andon.TenantID, k kind, person string,
	number func(andon.Time) uint32, q andon.EventQuery,
	read func(context.Context, *tenant, unit, andon.EventQuery) ([]andon.Entry, error),
) iter.Seq2[andon.Event, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Event) bool) error {
		q = t.inQuery(q)
		span := q.Rest()
		if span.Empty() {
			return nil
		}
		yield = seq.UpTo(q.Limit, yield)
		to := lastUnit(span.To, number)
		for u, err := range s.units(ctx, t.Key, k, person, number(span.From), to, q.Order) {
			var events []andon.Entry
			if err == nil {
				events, err = read(ctx, t, u, q)
			}
			if err != nil {
				return err
			}
			for _, e := range events {
				if note(ctx, &e); !yield(e.Event) {
					return nil
				}
			}
		}
		return nil
	})
}

// sortEvents puts entries into an order.
func sortEntries(entries []andon.Entry, states *andon.StateSet, o andon.Order) {
	slices.SortFunc(entries, func(a, b andon.Entry) int {
		if o == andon.Desc {
			a, b = b, a
		}
		return a.Key(states).Compare(b.Key(states))
	})
}

func (s *Store) operatorHour(
	ctx context.Context, t *tenant, operator andon.PersonID, hour uint32, q andon.EventQuery,
) ([]andon.Entry, error) {
	var device string
	var devices []andon.DeviceID
	ask := cql.Ask("SELECT device FROM hints_by_operator "+
		"WHERE tenant = ? AND operator = ? AND hour = ?", 3)
	args := []any{t.Key, string(operator), int(hour)}
	err := s.db.Each(ctx, ask, args, []any{&device}, func() {
		if id := andon.DeviceID(device); t.purged.present(id) {
			devices = append(devices, id)
		}
	})
	if err != nil {
		return nil, err
	}
	within := q
	within.Span = q.Span.Since(andon.HourStart(hour)).Until(andon.HourStart(hour+1) - 1)
	found := make([][]andon.Entry, len(devices))
	err = shared.Parallel(ctx, len(devices), func(ctx context.Context, i int) error {
		theirs := s.operators(t, devices[i], q.Order).only(operator)
		for e, err := range s.walk(ctx, t, devices[i], within, theirs) {
			if err != nil {
				return err
			}
			found[i] = append(found[i], e)
		}
		return nil
	})
	events := slices.Concat(found...)
	sortEntries(events, t.Record.States, q.Order)
	return events, err
}

func (s *Store) supervisorDay(
	ctx context.Context, t *tenant, supervisor andon.PersonID, day uint32, q andon.EventQuery,
) ([]andon.Entry, error) {
	entries, err := s.escalatedOn(ctx, t, supervisor, day)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e andon.Entry) bool {
		return !q.Admits(e.Key(t.Record.States))
	})
	sortEntries(entries, t.Record.States, q.Order)
	var events []andon.Entry
	for len(entries) > 0 && len(events) < q.Limit {
		n := min(len(entries), shared.SideBySide)
		found := make([]*andon.Entry, n)
		err := shared.Parallel(ctx, n, func(ctx context.Context, i int) (err error) {
			e := &entries[i]
			found[i], err = s.entry(ctx, t, e.Device, e.Time, e.State)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			if e != nil && e.Withdrawn == nil && e.EscalatedTo == supervisor {
				events = append(events, *e)
			}
		}
		entries = entries[n:]
	}
	return events, nil
}

// escalatedOn returns the entries of a day that may be escalated to a supervisor, without content.
func (s *Store) escalatedOn(
	ctx context.Context, t *tenant, supervisor andon.PersonID, day uint32,
) ([]andon.Entry, error) {
	var at int64
	var state, device string
	var entries []andon.Entry
	ask := cql.Ask("SELECT time, state, device FROM hints_by_supervisor "+
		"WHERE tenant = ? AND supervisor = ? AND day = ?", 3)
	args := []any{t.Key, string(supervisor), int(day)}
	err := s.db.Each(ctx, ask, args, []any{&at, &state, &device}, func() {
		if id := andon.DeviceID(device); t.purged.present(id) {
			entries = append(entries, andon.Entry{Event: andon.Event{
				Device: id, Time: andon.Time(at), State: andon.State(state),
			}})
		}
	})
	return entries, err
}

// Escalate is of andon.Log.
func (s *Store) Escalate(
	ctx context.Context, id andon.TenantID, e andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	ctx, end := s.within(ctx)
	defer end()
	kept = e
	err = s.onDevice(ctx, id, e.Device, func(
		t *tenant, device andon.DeviceID, _ *taken,
	) error {
		e.Device = device
		entry, shards, err := s.records(ctx, t, &e)
		if err == nil && entry.Withdrawn != nil {
			err = andon.NoEntry(kept.Device, e.Time, e.State)
		}
		if err != nil {
			return err
		}
		var none bool
		if added, none = escalates(&e, entry.Escalations); none {
			return nil
		}
		// What is there already is written again: an attempt before may have been broken off.
		return s.escalate(ctx, t, e, shards)
	})
	e.Device = kept.Device
	return e, added, err
}

// escalates makes of an escalation what is to be kept, next to those of its entry: the newest where
// it repeats that. none says that there is none to withdraw.
func escalates(e *andon.Escalation, records []andon.Escalation) (added, none bool) {
	var newest andon.Escalation
	if len(records) > 0 {
		newest = standing(records)
	}
	switch {
	case slices.Contains(records, *e):
	case !e.Repeats(&newest):
		if newest.At != 0 {
			e.At = max(e.At, newest.At+1)
		}
		return true, false
	case newest.At == 0:
		e.At, e.By, e.Note = 0, "", ""
		return false, true
	default:
		*e = newest
	}
	return false, false
}

// escalate writes a record, and what leads to it.
func (s *Store) escalate(
	ctx context.Context, t *tenant, e andon.Escalation, shards int,
) error {
	w := s.working.Load()
	a := &appending{
		store: s, working: w, tenant: t, stamp: s.stamp(),
		index: s.newIndexRows(t.Key, s.ttl(w.Retention)),
	}
	shard := shared.ShardOf(e.Time, e.State, shards)
	a.index.exists(ofEvents, string(e.Device), e.Time.Day(), shared.ShardsOf(shards),
		string(e.State), e.Time)
	a.log = append(a.escalated(e), cql.Mutation{a.escalation(e, shard)})
	return a.index.write(ctx, a.log...)
}

// records returns an entry with its escalations, and how many shards its device has; NotFound where
// neither the entry is there nor the device shows it. In the latter case it has nothing else.
func (s *Store) records(
	ctx context.Context, t *tenant, e *andon.Escalation,
) (*andon.Entry, int, error) {
	entry, err := s.entry(ctx, t, e.Device, e.Time, e.State)
	if err != nil {
		return nil, 0, err
	}
	v, err := s.look(ctx, t, e.Device, false)
	if err != nil {
		return nil, 0, err
	}
	if entry != nil {
		return entry, v.shards, nil
	}
	kept, err := s.keptEscalations(ctx, t, e)
	if err != nil {
		return nil, 0, err
	}
	n := v.Newest(t.Record.States)
	shown := v.Alive(t.Record.States) && n.Time == e.Time && n.State == e.State
	if !shown && (len(kept) == 0 || !v.Alive(t.Record.States)) {
		return nil, 0, andon.NoEntry(idOf(e.Device), e.Time, e.State)
	}
	entry = &andon.Entry{Escalations: kept}
	if v.IsWithdrawn(e.State, e.Time) {
		entry.Withdrawn = &andon.Withdrawal{}
	}
	return entry, v.shards, nil
}
