package pebblestore

import (
	"context"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
)

// Append is of andon.Log.
func (s *Store) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	if len(events) == 0 {
		return nil
	}
	t, err := s.tenant(ctx, id)
	if err != nil {
		return err
	}
	if err := s.room.check(); err != nil {
		return err
	}
	const eventBytes = 128 // about what one takes with its key
	groups := byDevice(events)
	w := s.newWrite(ctx, t, received, len(groups), len(events)*eventBytes+256)
	defer w.close()
	if err := encodeEvents(w.batch, t.number, events); err != nil {
		return err
	}
	w.fold = func(i int, d *current.Device) error { return w.events(d, groups[i]) }
	ids := make([]andon.DeviceID, len(groups))
	for i, group := range groups {
		ids[i] = group[0].Device
	}
	w.add(ids)
	if err := w.foldAll(); err != nil {
		return err
	}
	return s.commit(w)
}

// byDevice divides events, which stand device by device.
func byDevice(events []andon.Event) (groups [][]andon.Event) {
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Device == events[0].Device {
			n++
		}
		groups = append(groups, events[:n])
		events = events[n:]
	}
	return groups
}

// encodeEvents writes the rows of the events and of the escalations that they bring. It needs
// nothing but the events, so it runs outside the ordered section.
func encodeEvents(batch *pebble.Batch, tenant uint32, events []andon.Event) error {
	k := newKey(tableEvent, tenant)
	var value []byte
	for i := range events {
		e := &events[i]
		k = k.begin(tableEvent, tenant).event(e.Device, e.Time, e.State)
		value = appendEvent(value[:0], e)
		if err := batch.Set(k, value, nil); err != nil {
			return err
		}
		if e.EscalatedTo == "" {
			continue
		}
		escalation := andon.Escalation{
			Device: e.Device, Time: e.Time, State: e.State, At: e.Time, To: e.EscalatedTo,
		}
		if err := setEscalation(batch, tenant, &escalation); err != nil {
			return err
		}
	}
	return nil
}

// setEscalation writes an escalation beside its entry, and the hint for its supervisor.
func setEscalation(batch *pebble.Batch, tenant uint32, e *andon.Escalation) error {
	err := batch.Set(escalationKey(tenant, e), appendEscalation(nil, e), nil)
	if err != nil || e.To == "" {
		return err
	}
	entry := andon.EventKey{Time: e.Time, State: e.State, Device: e.Device}
	return batch.Set(supervisorKey(tenant, e.To, entry), nil, nil)
}

func escalationKey(tenant uint32, e *andon.Escalation) key {
	return append(eventKey(tenant, e.Device, e.Time, e.State).invertedTime(e.At), e.To...)
}

// events folds the events of one device, oldest first.
func (w *writing) events(d *current.Device, events []andon.Event) error {
	f := w.past.folded
	f.entries = len(events)
	gone := w.tenant.withdrawn.of(d.ID)
	for i := range events {
		e := &events[i]
		if slices.Contains(gone, andon.EntryRef{Time: e.Time, State: e.State}) {
			continue
		}
		state, err := w.state(e.State)
		if err != nil {
			return err
		}
		operator := retain(e.Operator, d.Operator)
		err = d.Apply(current.Entry{
			Time: e.Time, Severity: w.states.Severity(state), State: state, Operator: operator,
		}, w.states, w.past)
		if err != nil {
			return err
		}
		if e.EscalatedTo != "" {
			to := andon.PersonID(strings.Clone(string(e.EscalatedTo)))
			err := d.Escalate(current.Escalation{
				Entry: e.Time, State: state, At: e.Time, To: to,
			}, w.states, w.past)
			if err != nil {
				return err
			}
		}
		if err := w.index(f, d.ID, operator, e.Time); err != nil {
			return err
		}
	}
	return nil
}

// retain returns a person to keep: the one that is kept already where it is the same, else a clone,
// because what a request brings is part of its body.
func retain(p, kept andon.PersonID) andon.PersonID {
	if p == kept {
		return kept
	}
	return andon.PersonID(strings.Clone(string(p)))
}

// state returns a state to keep, and enters it among those that have entries.
func (w *writing) state(name andon.State) (andon.State, error) {
	if kept, ok := w.tenant.seen()[name]; ok {
		return kept, nil
	}
	if kept, ok := w.newStates[name]; ok {
		return kept, nil
	}
	if w.newStates == nil {
		w.newStates = map[andon.State]andon.State{}
	}
	kept := andon.State(strings.Clone(string(name)))
	w.newStates[kept] = kept
	w.key = w.key.begin(tableStateSeen, w.tenant.number).text(string(kept))
	return kept, w.batch.Set(w.key, nil, nil)
}

// index enters the day in the device's directory, and the hour in its operator's, unless that was
// done for the device's entry before this one. A fleet that reports every five minutes pays one
// key in 288 for the one, and one in twelve for the other.
func (w *writing) index(
	f *folded, id andon.DeviceID, operator andon.PersonID, at andon.Time,
) error {
	if day := at.Day(); f.day != day {
		f.day = day
		w.key = w.key.begin(tableDay, w.tenant.number).text(string(id)).inverted(day)
		if err := w.once(); err != nil {
			return err
		}
	}
	if operator == "" {
		return nil
	}
	hour := at.Hour()
	if sum := w.store.written.hour(operator, hour); f.operator != sum {
		f.operator = sum
		w.key = w.key.begin(tableOperator, w.tenant.number).
			text(string(operator)).number(hour).text(string(id))
		return w.once()
	}
	return nil
}
