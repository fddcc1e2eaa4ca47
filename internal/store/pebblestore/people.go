package pebblestore

import (
	"context"
	"iter"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
)

// Escalate is of andon.Log.
func (s *Store) Escalate(
	ctx context.Context, id andon.TenantID, e andon.Escalation,
) (andon.Escalation, error) {
	t, err := s.writable(ctx, id)
	if err != nil {
		return e, err
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	if err := s.enter(ctx, t); err != nil {
		return e, err
	}
	kept, w, err := s.stageEscalation(ctx, batch, t, e)
	if err != nil || w == nil {
		s.order.Unlock()
		return kept, err
	}
	return kept, s.commit(batch, w) // unlocks
}

// writable returns a tenant that is there, when there is room to write.
func (s *Store) writable(ctx context.Context, id andon.TenantID) (*tenant, error) {
	t, err := s.tenant(ctx, id)
	if err == nil {
		err = s.room.check()
	}
	return t, err
}

// stageEscalation returns no staging where the record is there already.
func (s *Store) stageEscalation(
	ctx context.Context, batch *pebble.Batch, t *tenant, e andon.Escalation,
) (andon.Escalation, *staging, error) {
	entry, err := entry(ctx, s.db, t, e.Device, e.Time, e.State)
	if err != nil && (andon.KindOf(err) != andon.NotFound || !t.shows(&e)) {
		return e, nil, err
	}
	for _, there := range entry.Escalations {
		if there == e {
			return e, nil, nil
		}
	}
	if len(entry.Escalations) > 0 {
		e.At = max(e.At, entry.Escalations[0].At+1)
	}
	e.At = max(e.At, t.fleet.Slot(e.Device).Latest().EscalatedAt(e.Time, e.State)+1)
	if err := setEscalation(batch, t.number, &e); err != nil {
		return e, nil, err
	}
	w := s.newStaging(batch, t, 0, 1)
	w.device(e.Device, func(d *current.Device) {
		d.Escalate(current.Escalation{
			Entry: e.Time, State: andon.State(strings.Clone(string(e.State))),
			At: e.At, To: retain(e.To, ""),
		}, w.states)
	})
	return e, w, nil
}

// shows reports whether a device shows an entry, or whom it was escalated to: then the entry can be
// escalated although its history was given back.
func (t *tenant) shows(e *andon.Escalation) bool {
	slot := t.fleet.Slot(e.Device)
	if slot == nil || !slot.Latest().Alive() {
		return false
	}
	d := slot.Latest()
	return (d.Time == e.Time && d.State == e.State) || d.EscalatedAt(e.Time, e.State) != 0
}

// device stages a change of one device that is not a message of it.
func (w *staging) device(id andon.DeviceID, change func(*current.Device)) {
	slot := w.slot(id)
	was := slot.Latest()
	d := w.changes.Copy(slot)
	change(d)
	w.changed(slot, was, d)
	w.keep()
}

// Retire is of andon.Current.
func (s *Store) Retire(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, at andon.Time,
) (andon.Time, error) {
	t, err := s.writable(ctx, id)
	if err != nil {
		return 0, err
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	if err := s.enter(ctx, t); err != nil {
		return 0, err
	}
	slot := t.fleet.Slot(device)
	if slot == nil || !slot.Latest().Alive() {
		s.order.Unlock()
		return 0, noDevice(device)
	}
	w := s.newStaging(batch, t, 0, 1)
	w.device(device, func(d *current.Device) { at = d.Retire(at) })
	return at, s.commit(batch, w) // unlocks
}

func noDevice(id andon.DeviceID) error {
	return andon.Errorf(andon.NotFound, "device %q was never seen, or is retired", id)
}

// Assign is of andon.Assignments.
func (s *Store) Assign(
	ctx context.Context, id andon.TenantID, now andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	t, err := s.writable(ctx, id)
	if err != nil || len(assignments) == 0 {
		return nil, err
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	if err := s.enter(ctx, t); err != nil {
		return nil, err
	}
	w := s.newStaging(batch, t, 0, len(assignments))
	kept, err := w.assign(now, assignments)
	if err != nil {
		s.order.Unlock()
		return nil, err
	}
	return kept, s.commit(batch, w) // unlocks
}

func (w *staging) assign(
	now andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	kept := make([]andon.Assignment, 0, len(assignments))
	type pair struct{ was, is *current.Device }
	copies := map[*slot]pair{} // a device may be assigned more than once
	for _, a := range assignments {
		slot := w.slot(a.Device)
		p, ok := copies[slot]
		if !ok {
			p = pair{slot.Latest(), w.changes.Copy(slot)}
			copies[slot] = p
		}
		a.From, a.To = p.is.Assign(retain(a.Operator, p.is.Assignee), now), 0
		w.key = w.key.begin(tableAssignment, w.tenant.number).
			text(string(a.Device)).invertedTime(a.From)
		if err := w.batch.Set(w.key, []byte(a.Operator), nil); err != nil {
			return nil, err
		}
		kept = append(kept, a)
	}
	for _, slot := range w.changes.Slots() {
		p := copies[slot]
		w.changed(slot, p.was, p.is)
	}
	w.keep()
	return kept, nil
}

// Assignments is of andon.Assignments.
func (s *Store) Assignments(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return failed[andon.Assignment](err)
	}
	return func(yield func(andon.Assignment, error) bool) {
		left := q.Limit
		for a, err := range s.assignments(ctx, t, device, q.Order, q.After) {
			if left--; left < 0 || !yield(a, err) || err != nil {
				return
			}
		}
	}
}

// assignments returns the assignments of a device behind a time, each with the time of
// the next one.
func (s *Store) assignments(
	ctx context.Context, t *tenant, device andon.DeviceID, order andon.Order, after andon.Time,
) iter.Seq2[andon.Assignment, error] {
	prefix := newKey(tableAssignment, t.number).text(string(device))
	from, behind := []byte(prefix), []byte(prefix.end())
	switch {
	case after == 0:
	case order == andon.Desc:
		from = prefix.invertedTime(after - 1)
	default:
		behind = prefix.invertedTime(after)
	}
	return func(yield func(andon.Assignment, error) bool) {
		it, err := newIterator(ctx, s.db, from, behind)
		if err != nil {
			yield(andon.Assignment{}, err)
			return
		}
		defer it.close()
		read := func() (a andon.Assignment, err error) {
			from, rest, ok := takeInvertedTime(it.Key()[len(prefix):])
			if !ok || len(rest) != 0 {
				return a, errDamaged
			}
			value, err := it.ValueAndErr()
			operator := andon.PersonID(value)
			return andon.Assignment{Device: device, Operator: operator, From: from}, err
		}
		if order == andon.Desc {
			newestFirst(it, read, after, yield)
		} else {
			oldestFirst(it, read, yield)
		}
		if err := it.Error(); err != nil {
			yield(andon.Assignment{}, err)
		}
	}
}

func newestFirst(
	it *iterator, read func() (andon.Assignment, error), next andon.Time,
	yield func(andon.Assignment, error) bool,
) {
	for ok := it.First(); ok; ok = it.Next() {
		a, err := read()
		a.To, next = next, a.From
		if !yield(a, err) || err != nil {
			return
		}
	}
}

func oldestFirst(
	it *iterator, read func() (andon.Assignment, error),
	yield func(andon.Assignment, error) bool,
) {
	var held *andon.Assignment // waits for the one behind it
	for ok := it.Last(); ok; ok = it.Prev() {
		a, err := read()
		if held != nil {
			held.To = a.From
			if !yield(*held, nil) {
				return
			}
		}
		if err != nil {
			yield(a, err)
			return
		}
		held = &a
	}
	if held != nil {
		yield(*held, nil)
	}
}

// Resolve is of andon.Assignments. Nearly always an entry is later than its device's newest
// assignment, which is in memory.
func (s *Store) Resolve(ctx context.Context, id andon.TenantID, events []andon.Event) error {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return err
	}
	var earlier []*andon.Event // than the newest assignment of their device
	s.mu.RLock()
	for i := range events {
		e := &events[i]
		if e.Operator != "" {
			continue
		}
		slot := t.fleet.Slot(e.Device)
		if slot == nil || slot.Shown().AssignedFrom == 0 {
			continue
		}
		if d := slot.Shown(); e.Time >= d.AssignedFrom {
			e.Operator = d.Assignee
		} else {
			earlier = append(earlier, e)
		}
	}
	s.mu.RUnlock()
	for _, e := range earlier {
		for a, err := range s.assignments(ctx, t, e.Device, andon.Desc, e.Time+1) {
			if err != nil {
				return err
			}
			e.Operator = a.Operator
			break
		}
	}
	return nil
}
