package cassandrastore

import (
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// OperatorEvents implements andon.Log. It reads, hour by hour, the devices that have entries of the
// operator in that hour.
func (s *Store) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return s.person(ctx, id, rows.OfOperator, operator, q, s.rows.OperatorHour)
}

// SupervisorEvents implements andon.Log. It reads, day by day, the entries that were ever escalated
// to the supervisor.
func (s *Store) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return s.person(ctx, id, rows.OfSupervisor, supervisor, q, s.rows.SupervisorDay)
}

// person returns what read returns for each unit of a person's directory, in order. read returns
// the entries of a unit in the order of the query, at least the first Limit of them.
func (s *Store) person(
	ctx context.Context, id andon.TenantID, k rows.Kind, person andon.PersonID,
	q andon.EventQuery, read func(
		context.Context, *rows.Tenant, andon.PersonID, uint32, andon.EventQuery,
	) ([]andon.Entry, error),
) iter.Seq2[andon.Event, error] {
	return listIn(ctx, s, id, func(t *rows.Tenant) iter.Seq2[andon.Event, error] {
		q := t.Query(q)
		units := s.rows.UnitsIn(ctx, t.Key, k, string(person), q.Rest(), q.Order)
		return shownEvents(ctx, seq.First(q.Limit, seq.Join(units, func(
			u rows.Unit,
		) iter.Seq2[andon.Entry, error] {
			return seq.List(func() ([]andon.Entry, error) {
				return read(ctx, t, person, u.Number, q)
			})
		})))
	})
}

// Escalate implements andon.Log.
func (s *Store) Escalate(
	ctx context.Context, id andon.TenantID, e andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	ctx, end := s.within(ctx)
	defer end()
	kept = e
	err = s.onDevice(ctx, id, e.Device, func(
		ctx context.Context, t *rows.Tenant, device andon.DeviceID, _ *taken,
	) error {
		e.Device = device
		entry, shards, err := s.withEscalations(ctx, t, &e)
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
		// A record that is stored is written again: an earlier attempt may have been interrupted.
		return s.escalate(ctx, t, e, shards, andon.ByEscalation)
	})
	e.Device = kept.Device
	return e, added, err
}

// escalates decides what is stored of an escalation, given the records of its entry: the newest
// record if the call repeats it. none says that there is no escalation to withdraw.
func escalates(e *andon.Escalation, records []andon.Escalation) (added, none bool) {
	var newest andon.Escalation
	if len(records) > 0 {
		newest = rows.NewestOf(records)
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

// escalate writes a record and the index rows that lead to it.
func (s *Store) escalate(
	ctx context.Context, t *rows.Tenant, e andon.Escalation, shards int, kind andon.ChangeKind,
) error {
	stamp, index := s.stamp(), s.newIndexRows(t.Key, s.ttl(s.working.Load().Retention))
	shard := shared.ShardOf(e.Time, e.State, shards)
	index.Partition(rows.OfEvents, string(e.Device), e.Time.Day(), shared.ShardsOf(shards),
		string(e.State), e.Time)
	all := append(rows.Escalated(t, stamp, index, e), cql.Mutation{rows.InsertEscalation(
		t.Key, stamp, index.TTL, e, shard)})
	if t.Gen() > 0 {
		v, err := s.readPartition(ctx, t.Key, e.Device, false)
		if err != nil {
			return err
		}
		all = append(all, v.restated(t, &e)...)
	}
	cause, err := s.markedFirst(ctx, t, e.Device, kind, stamp)
	if err == nil {
		err = index.Write(ctx, all...)
	}
	if err != nil {
		return err
	}
	return s.changed(ctx, t, cause, e.Device)
}

// withEscalations returns an entry with its escalations, and how many shards its device has. It is
// NotFound if the log does not have the entry and the device does not show it; an entry that only
// the device shows has nothing but its escalations.
func (s *Store) withEscalations(
	ctx context.Context, t *rows.Tenant, e *andon.Escalation,
) (*andon.Entry, int, error) {
	entry, err := s.rows.Entry(ctx, t, e.Device, e.Time, e.State)
	if err != nil {
		return nil, 0, err
	}
	v, err := s.readView(ctx, t, e.Device, false)
	if err != nil {
		return nil, 0, err
	}
	if entry != nil {
		return entry, v.shards, nil
	}
	kept, err := s.rows.EscalationsOf(ctx, t, e)
	if err != nil {
		return nil, 0, err
	}
	n := v.Newest(t.Record.States)
	shown := v.Alive(t.Record.States) && n.Time == e.Time && n.State == e.State
	if !shown && (len(kept) == 0 || !v.Alive(t.Record.States)) {
		return nil, 0, andon.NoEntry(rows.IDOf(e.Device), e.Time, e.State)
	}
	entry = &andon.Entry{Escalations: kept}
	if v.IsWithdrawn(e.State, e.Time) {
		entry.Withdrawn = &andon.Withdrawal{}
	}
	return entry, v.shards, nil
}

// escalatedNow returns the newest escalation in force of any entry of the present incident of a
// device, ordered by when it was made, then by its entry. Nearly always it is the one that was made
// last, which the view has; else those of the incident are read, the newest first.
func (s *Store) escalatedNow(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, v *view,
) (andon.Escalation, error) {
	states, incident := t.Record.States, v.Incident.First
	inIncident := func(r *andon.Escalation) bool {
		return r.Time >= incident && states.Severity(r.State) > 0 && !v.IsWithdrawn(r.State, r.Time)
	}
	if r := v.escalation; r.Gen == t.Gen() && r.To != "" && inIncident(&r.Escalation) {
		return r.Escalation, nil
	}
	v.searched = true
	seen := map[andon.EventKey]bool{}
	for made, err := range s.rows.Escalations(ctx, t, device, incident) {
		if err != nil {
			return andon.Escalation{}, err
		}
		var newest andon.Escalation
		for _, r := range rows.NewestOfEach(made, states, seen) {
			if r.To != "" && inIncident(&r) {
				newest = r // they rise
			}
		}
		if newest.To != "" {
			return newest, nil
		}
	}
	return andon.Escalation{}, nil
}

// restated returns what is written next to an escalation that was made at the same time as the one
// that is stored as the newest of the device under former severities: that one again, so that the
// two are compared under the same severities.
func (v *view) restated(t *rows.Tenant, r *andon.Escalation) []cql.Mutation {
	was := v.escalation
	if was.To == "" || was.At != max(1, r.At) || was.Gen == t.Gen() {
		return nil
	}
	was.Device = r.Device
	return []cql.Mutation{{rows.UpdateEscalation(t, &was.Escalation)}}
}
