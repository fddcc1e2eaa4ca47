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
			d.keep(t.record.States, e)
			d.hear(received)
			t.feed.note(d, &e)
			t.feed.came = append(t.feed.came, e)
		}
		return nil
	})
}

// keep puts an entry into its place in the log, and the escalation that it brings next to it.
func (d *device) keep(states *andon.StateSet, e andon.Event) {
	if e.EscalatedTo != "" {
		d.record(andon.Escalation{
			Device: d.id, Time: e.Time, State: e.State, At: e.Time, To: e.EscalatedTo,
		})
		e.EscalatedTo = ""
	}
	i, there := d.find(states, e.Key(states))
	if there {
		d.entries[i] = e
		return
	}
	d.entries = slices.Insert(d.entries, i, e)
}

// record keeps an escalation record; it takes the place of one with the same At and To.
func (d *device) record(r andon.Escalation) {
	id := entryID{r.Time, r.State}
	records := d.escalations[id]
	byAge := func(have, r andon.Escalation) int {
		return cmp.Or(cmp.Compare(have.At, r.At), cmp.Compare(r.To, have.To))
	}
	i, there := slices.BinarySearchFunc(records, r, byAge)
	if there {
		records[i] = r
	} else {
		records = slices.Insert(records, i, r)
	}
	d.escalations[id] = records
	d.changed()
}

// Escalate keeps an escalation record of its entry, as the newest one.
func (s *Store) Escalate(
	ctx context.Context, id andon.TenantID, r andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	err = s.write(ctx, id, andon.ByEscalation, func(t *tenant) error {
		d, e, err := t.entry(r.Device, r.Time, r.State)
		if err == nil && d.isWithdrawn(e) {
			err = andon.NoEntry(r.Device, r.Time, r.State)
		}
		if err != nil {
			return err
		}
		records := d.escalations[entryID{e.Time, e.State}]
		newest := d.newestEscalation(e)
		switch {
		case slices.Contains(records, r):
			kept = r
			return nil
		case r.Repeats(&newest):
			kept = newest
			kept.Device, kept.Time, kept.State = e.Device, e.Time, e.State
			return nil
		case len(records) > 0 && r.At <= newest.At:
			r.At = newest.At + 1
		}
		kept, added = cloneEscalation(e, r), true
		d.record(kept)
		return nil
	})
	return kept, added, err
}

// Entry returns one entry with its escalations, newest first.
func (s *Store) Entry(
	ctx context.Context, id andon.TenantID,
	device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	var found andon.Entry
	err := s.within(ctx, id, func(t *tenant) error {
		d, e, err := t.entry(device, at, state)
		if err != nil {
			return err
		}
		found.Event = d.answer(e)
		found.Escalations = slices.Clone(d.escalations[entryID{at, state}])
		slices.Reverse(found.Escalations)
		if w, withdrawn := d.withdrawn[entryID{at, state}]; withdrawn {
			found.Withdrawn = &w
		}
		return nil
	})
	return found, err
}

// EscalatedEntries returns the entries of a device that were ever escalated.
func (s *Store) EscalatedEntries(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	return list(ctx, s, id, func(t *tenant) []andon.Entry {
		var found []andon.Entry
		for _, d := range t.known(device) {
			ever := func(e *andon.Event) bool {
				return len(d.escalations[entryID{e.Time, e.State}]) > 0
			}
			for _, e := range t.events(t.known(device), q, ever) {
				records := slices.Clone(d.escalations[entryID{e.Time, e.State}])
				slices.Reverse(records)
				found = append(found, andon.Entry{Event: e, Escalations: records})
			}
		}
		return found
	})
}

// entry returns one entry and its device.
func (t *tenant) entry(
	id andon.DeviceID, at andon.Time, state andon.State,
) (*device, *andon.Event, error) {
	if d, ok := t.devices[id]; ok {
		key := (&andon.Event{Device: id, Time: at, State: state}).Key(t.record.States)
		if i, there := d.find(t.record.States, key); there {
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
		return t.events(t.known(device), q, func(*andon.Event) bool { return true })
	})
}

// OperatorEvents returns entries of all devices whose operator is that person.
func (s *Store) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return list(ctx, s, id, func(t *tenant) []andon.Event {
		theirs := func(e *andon.Event) bool { return e.Operator == operator }
		return t.events(t.all(), q, theirs)
	})
}

// TenantEvents returns entries of all devices.
func (s *Store) TenantEvents(
	ctx context.Context, id andon.TenantID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return list(ctx, s, id, func(t *tenant) []andon.Event {
		return t.events(t.all(), q, func(*andon.Event) bool { return true })
	})
}

// SupervisorEvents returns entries of all devices that are escalated to that person now.
func (s *Store) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return list(ctx, s, id, func(t *tenant) []andon.Event {
		theirs := func(e *andon.Event) bool { return e.EscalatedTo == supervisor }
		return t.events(t.all(), q, theirs)
	})
}

// events returns the entries of some devices that a query selects and that are wanted, as they are
// shown.
func (t *tenant) events(
	devices []*device, q andon.EventQuery, wanted func(*andon.Event) bool,
) []andon.Event {
	states := t.record.States
	var found []andon.Event
	for _, d := range devices {
		for i := range d.entries {
			e := d.answer(&d.entries[i])
			if q.Admits(e.Key(states)) && wanted(&e) && !d.isWithdrawn(&e) {
				found = append(found, e)
			}
		}
	}
	slices.SortFunc(found, func(a, b andon.Event) int {
		if q.Order == andon.Desc {
			a, b = b, a
		}
		return a.Key(states).Compare(b.Key(states))
	})
	return firstOf(found, q.Limit)
}

func cloneEvent(id andon.DeviceID, e andon.Event) andon.Event {
	e.Device, e.State, e.Operator = id, clone(e.State), clone(e.Operator)
	e.EscalatedTo, e.Message, e.Attributes = clone(e.EscalatedTo), clone(e.Message),
		clone(e.Attributes)
	return e
}

// cloneEscalation copies a record of an entry that is kept.
func cloneEscalation(e *andon.Event, r andon.Escalation) andon.Escalation {
	r.Device, r.Time, r.State = e.Device, e.Time, e.State
	r.To, r.By, r.Note = clone(r.To), clone(r.By), clone(r.Note)
	return r
}
