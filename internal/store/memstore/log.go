package memstore

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
)

// Append keeps events; of two deliveries of one entry, the later is kept.
func (s *Store) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	return s.write(ctx, id, andon.ByEntry, func(t *tenant) error {
		for i := range events {
			d := t.device(events[i].Device)
			e := cloneEvent(d.id, events[i])
			if e.Operator == "" {
				e.Operator = d.assignedAt(e.Time)
			}
			t.hadEvents, t.admitted[e.State] = true, true
			d.keep(e)
			d.hear(received)
			t.feed.note(d, &e)
			t.feed.came = append(t.feed.came, e)
		}
		return nil
	})
}

// keep puts an entry into its place in the log, and the escalation that it brings next to it.
func (d *device) keep(e andon.Event) {
	to := e.EscalatedTo
	e.EscalatedTo = ""
	i, there := d.find(e.Key(d.tenant.record.States))
	if !there {
		d.entries = slices.Insert(d.entries, i, andon.Entry{})
	}
	d.entries[i].Event = e
	if to != "" {
		d.record(&d.entries[i], andon.Escalation{
			Device: d.id, Time: e.Time, State: e.State, At: e.Time, To: to,
		})
	}
}

// record keeps an escalation record, the newest first; it takes the place of one with the same At
// and To.
func (d *device) record(e *andon.Entry, r andon.Escalation) {
	byAge := func(have, r andon.Escalation) int {
		return cmp.Or(cmp.Compare(r.At, have.At), cmp.Compare(have.To, r.To))
	}
	i, there := slices.BinarySearchFunc(e.Escalations, r, byAge)
	if there {
		e.Escalations[i] = r
	} else {
		e.Escalations = slices.Insert(e.Escalations, i, r)
	}
	d.changed()
}

// Escalate keeps an escalation record of its entry, as the newest one.
func (s *Store) Escalate(
	ctx context.Context, id andon.TenantID, r andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	err = s.write(ctx, id, andon.ByEscalation, func(t *tenant) error {
		d, e, err := t.entry(r.Device, r.Time, r.State)
		if err == nil && e.Withdrawn != nil {
			err = andon.NoEntry(r.Device, r.Time, r.State)
		}
		if err != nil {
			return err
		}
		newest := e.CurrentEscalation()
		switch {
		case slices.Contains(e.Escalations, r):
			kept = r
			return nil
		case r.Repeats(&newest):
			kept = newest
			kept.Device, kept.Time, kept.State = e.Device, e.Time, e.State
			return nil
		case len(e.Escalations) > 0 && r.At <= newest.At:
			r.At = newest.At + 1
		}
		kept, added = cloneEscalation(e, r), true
		d.record(e, kept)
		return nil
	})
	return kept, added, err
}

// Entry returns one entry with its escalations, newest first.
func (s *Store) Entry(
	ctx context.Context, id andon.TenantID,
	device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	return ask(ctx, s, id, func(t *tenant) (found andon.Entry, err error) {
		_, e, err := t.entry(device, at, state)
		if err == nil {
			found = shownEntry(e)
		}
		return found, err
	})
}

// shownEntry returns an entry as it is shown: with whom it is escalated to now.
func shownEntry(e *andon.Entry) andon.Entry {
	shown := *e
	shown.EscalatedTo = e.CurrentEscalation().To
	shown.Escalations = slices.Clone(e.Escalations)
	return shown
}

// EscalatedEntries returns the entries of a device that were ever escalated.
func (s *Store) EscalatedEntries(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	return list(ctx, s, id, func(t *tenant) []andon.Entry {
		return t.entries(t.known(device), q, func(e *andon.Entry) bool {
			return len(e.Escalations) > 0
		})
	})
}

func (t *tenant) entry(
	id andon.DeviceID, at andon.Time, state andon.State,
) (*device, *andon.Entry, error) {
	if d, ok := t.devices[id]; ok {
		key := (&andon.Event{Device: id, Time: at, State: state}).Key(t.record.States)
		if i, there := d.find(key); there {
			return d, &d.entries[i], nil
		}
	}
	return nil, nil, andon.NoEntry(id, at, state)
}

// DeviceEvents returns entries of a device.
func (s *Store) DeviceEvents(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return list(ctx, s, id, func(t *tenant) []andon.Event {
		return t.events(t.known(device), q, func(*andon.Entry) bool { return true })
	})
}

// OperatorEvents returns entries of all devices whose operator is that person.
func (s *Store) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return list(ctx, s, id, func(t *tenant) []andon.Event {
		theirs := func(e *andon.Entry) bool { return e.Operator == operator }
		return t.events(t.sorted(), q, theirs)
	})
}

// TenantEvents returns entries of all devices.
func (s *Store) TenantEvents(
	ctx context.Context, id andon.TenantID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return list(ctx, s, id, func(t *tenant) []andon.Event {
		return t.events(t.sorted(), q, func(*andon.Entry) bool { return true })
	})
}

// SupervisorEvents returns entries of all devices that are escalated to that person now.
func (s *Store) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return list(ctx, s, id, func(t *tenant) []andon.Event {
		theirs := func(e *andon.Entry) bool { return e.EscalatedTo == supervisor }
		return t.events(t.sorted(), q, theirs)
	})
}

func (t *tenant) events(
	devices []*device, q andon.EventQuery, wanted func(*andon.Entry) bool,
) (found []andon.Event) {
	for _, e := range t.entries(devices, q, wanted) {
		found = append(found, e.Event)
	}
	return found
}

// entries returns the entries of some devices that a query selects and that are wanted, as they are
// shown.
func (t *tenant) entries(
	devices []*device, q andon.EventQuery, wanted func(*andon.Entry) bool,
) (found []andon.Entry) {
	states := t.record.States
	for _, d := range devices {
		for i := range d.entries {
			e := shownEntry(&d.entries[i])
			if e.Withdrawn == nil && q.Admits(e.Key(states)) && wanted(&e) {
				found = append(found, e)
			}
		}
	}
	slices.SortFunc(found, func(a, b andon.Entry) int {
		if q.Order == andon.Desc {
			a, b = b, a
		}
		return a.Key(states).Compare(b.Key(states))
	})
	return firstOf(found, q.Limit)
}

// cloneEvent copies what may be part of a caller's buffer.
func cloneEvent(id andon.DeviceID, e andon.Event) andon.Event {
	e.Device, e.State, e.Operator = id, clone(e.State), clone(e.Operator)
	e.EscalatedTo, e.Message, e.Attributes = clone(e.EscalatedTo), clone(e.Message),
		clone(e.Attributes)
	return e
}

// cloneEscalation copies a record of an entry that is kept.
func cloneEscalation(e *andon.Entry, r andon.Escalation) andon.Escalation {
	r.Device, r.Time, r.State = e.Device, e.Time, e.State
	r.To, r.By, r.Note = clone(r.To), clone(r.By), clone(r.Note)
	return r
}
