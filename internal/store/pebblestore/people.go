package pebblestore

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
)

// Escalate is of andon.Log.
func (s *Store) Escalate(
	ctx context.Context, id andon.TenantID, e andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	t, err := s.writable(ctx, id)
	if err != nil {
		return e, false, err
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	if err := s.enter(ctx, t); err != nil {
		return e, false, err
	}
	w := s.newStaging(batch, t, 0, 1)
	kept, added, err = w.escalate(ctx, e)
	if err != nil {
		s.order.Unlock()
		return e, false, err
	}
	// What was so already may have been staged a moment ago: that it is durable is known once this
	// write is, which then holds nothing.
	return kept, added, s.commit(batch, w) // unlocks
}

// writable returns a tenant that is there, when there is room to write.
func (s *Store) writable(ctx context.Context, id andon.TenantID) (*tenant, error) {
	t, err := s.tenant(ctx, id)
	if err == nil {
		err = s.room.check()
	}
	return t, err
}

// escalate stages an escalation, unless the entry is escalated to that person already.
func (w *staging) escalate(
	ctx context.Context, e andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	standing, again, err := w.standing(ctx, &e)
	if err != nil || again || standing.To == e.To {
		return standing, false, err
	}
	if standing.At != 0 {
		e.At = max(e.At, standing.At+1)
	}
	if err := setEscalation(w.batch, w.tenant.number, &e); err != nil {
		return e, false, err
	}
	w.device(e.Device, func(d *current.Device) {
		d.Escalate(current.Escalation{
			Entry: e.Time, State: andon.State(strings.Clone(string(e.State))),
			At: e.At, To: retain(e.To, ""),
		}, w.states)
	})
	return e, true, nil
}

// standing returns the record that counts of the entry of e, or e itself, where that record is
// there already. It is NotFound where neither the entry is there nor the device shows it.
func (w *staging) standing(
	ctx context.Context, e *andon.Escalation,
) (standing andon.Escalation, again bool, err error) {
	entry, err := entry(ctx, w.store.db, w.tenant, e.Device, e.Time, e.State)
	if err != nil && (andon.KindOf(err) != andon.NotFound || !w.tenant.shows(e)) {
		return standing, false, err
	}
	if slices.Contains(entry.Escalations, *e) {
		return *e, true, nil
	}
	standing = entry.Standing()
	// In memory a record outlives the history, but for who made it and why.
	shown := w.tenant.fleet.Slot(e.Device).Latest().Escalated(e.Time, e.State)
	if shown.At > standing.At {
		standing = andon.Escalation{At: shown.At, To: shown.To}
	}
	standing.Device, standing.Time, standing.State = e.Device, e.Time, e.State
	return standing, false, nil
}

// shows reports whether a device shows an entry, or whom it was escalated to: then the entry can be
// escalated although its history was given back.
func (t *tenant) shows(e *andon.Escalation) bool {
	slot := t.fleet.Slot(e.Device)
	if slot == nil || !slot.Latest().Alive() {
		return false
	}
	d := slot.Latest()
	return (d.Time == e.Time && d.State == e.State) || d.Escalated(e.Time, e.State).At != 0
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
		p, copied := copies[slot]
		if !copied {
			p = pair{slot.Latest(), slot.Latest()}
		}
		if p.is.AssignedFrom != 0 && p.is.Assignee == a.Operator {
			a.From, a.To, a.Again = p.is.AssignedFrom, 0, true
			kept = append(kept, a)
			continue
		}
		if !copied {
			p.is = w.changes.Copy(slot)
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
