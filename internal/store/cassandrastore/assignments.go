package cassandrastore

import (
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// statementsInBatch keeps a logged batch of the longest ids below the 50 KiB that Cassandra
// refuses.
const statementsInBatch = 60

// Assign implements andon.Assignments. Assignments of several devices are written by logged
// batches, each of which is applied as a whole once Cassandra has it; more than twenty assignments
// are several batches.
func (s *Store) Assign(
	ctx context.Context, id andon.TenantID, now andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	if err := s.mayWrite(ctx); err != nil {
		return nil, err
	}
	t, err := s.tenant(ctx, id)
	if err != nil || len(assignments) == 0 {
		return nil, err
	}
	byDevice := func(a *andon.Assignment) *andon.DeviceID { return &a.Device }
	assignments = rows.WithKeys(t.Purged, assignments, byDevice)
	var ids []andon.DeviceID
	for _, a := range assignments {
		ids = append(ids, a.Device)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	t, slots, err := s.take(ctx, t, ids...)
	if err != nil {
		return nil, err
	}
	defer slots.Give()
	ctx, cancel := s.writing(ctx)
	defer cancel()
	began := s.processes.Now()
	if err := s.views(ctx, t, slots, 0); err != nil {
		return nil, err
	}
	kept, err := assigned(t, slots, now, assignments)
	if err != nil {
		return nil, err
	}
	err = s.writeAssignments(ctx, t, andon.ByAssignment, now, kept...)
	slots.Forget() // their newest assignments are other ones now
	if err == nil {
		err = s.processes.InTime(began, 0)
	}
	for i := range kept {
		kept[i].Device = rows.IDOf(kept[i].Device)
	}
	return kept, err
}

// assigned decides from when on assignments are in force, and which there are already.
func assigned(
	t *rows.Tenant, slots *taken, now andon.Time, assignments []andon.Assignment,
) (kept []andon.Assignment, _ error) {
	devices := map[andon.DeviceID]*current.Device{}
	for _, slot := range slots.Slots {
		d := slot.View.Device(slot.Key.Device, t.Record.States)
		devices[d.ID] = &d
	}
	for _, a := range assignments {
		if err := devices[a.Device].Assign(&a, now); err != nil {
			return nil, err
		}
		kept = append(kept, a)
	}
	return kept, nil
}

// writeAssignments writes those that are not there already, and has the feed follow all devices.
func (s *Store) writeAssignments(
	ctx context.Context, t *rows.Tenant, kind andon.ChangeKind, now andon.Time,
	assignments ...andon.Assignment,
) error {
	stamp := s.stamp()
	cause, err := s.pending(ctx, t, kind, stamp)
	if err != nil {
		return err
	}
	index := s.newIndexRows(t.Key, s.ttl(s.working.Load().Retention))
	var statements []cql.Statement
	var devices []andon.DeviceID
	for _, a := range assignments {
		devices = append(devices, a.Device)
		if a.Again {
			continue
		}
		statements = append(statements, rows.Assign(t, a, stamp, cause)...)
		index.Device(string(a.Device))
		if a.Operator != "" {
			s.foresee(index, t, now, a)
		}
	}
	if err := index.Write(ctx); err != nil {
		return err
	}
	for part := range slices.Chunk(statements, statementsInBatch) {
		if err := s.db.WriteLogged(ctx, part); err != nil {
			return err
		}
	}
	return s.changed(ctx, t, cause, shared.Distinct(devices)...)
}

// Assignments implements andon.Assignments.
func (s *Store) Assignments(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	return listIn(ctx, s, id, func(t *rows.Tenant) iter.Seq2[andon.Assignment, error] {
		return s.rows.Assignments(ctx, t, device, q)
	})
}

// answering returns the operator of each entry of an append, for the index rows: the one that it
// names, else the one who was assigned as far as this process knows. Assign writes the index rows
// that are missing then.
func (a *appending) answering(ctx context.Context, d *deviceAppend) ([]andon.PersonID, error) {
	newest, all := d.was.Assigned, rows.Named(d.events)
	if newest.From == 0 {
		return all, nil
	}
	former := a.store.rows.Operators(a.tenant, d.events[0].Device, andon.Asc)
	for i := range d.events {
		e := &d.events[i] // they are in the order of the log
		if e.Operator == "" && e.Time >= newest.From {
			all[i] = newest.Operator
		} else if e.Operator == "" {
			var err error
			if all[i], err = former.InForce(ctx, e.Time); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// foresee writes the index rows of an operator for the hours in which entries of the device may be
// that are appended concurrently with the assignment: another process that does not know of it yet
// accepts entries as far ahead as the tenant allows.
func (s *Store) foresee(x *rows.Index, t *rows.Tenant, now andon.Time, a andon.Assignment) {
	last := now.Add(andon.DurationOf(s.options.Settle) + t.Record.MaxFuture).Hour()
	first := a.From.Hour()
	for hour := first; hour <= max(first, min(last, first+hoursForeseen)); hour++ {
		x.Operator(string(a.Operator), string(a.Device), max(a.From, andon.HourStart(hour)))
	}
}

// hoursForeseen bounds what one assignment costs where a tenant lets entries be far ahead.
const hoursForeseen = 48
