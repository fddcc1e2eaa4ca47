package pebblestore

import (
	"context"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Append implements andon.Log.
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
	if err := s.dir.Disk.Check(); err != nil {
		return err
	}
	if err := s.log.Memory.Wait(ctx, s.checkpoints.Want); err != nil {
		return err
	}
	groups, ids, bytes := divide(events)
	return s.change(ctx, t, andon.ByEntry, ids, bytes, func(w *writing) {
		w.received = received
		w.fold = func(i int, d *current.Device) error { return w.append(d, groups[i]) }
	})
}

// divide divides events, which are ordered by device, and returns about how many bytes they take in
// rows.
func divide(events []andon.Event) (groups [][]andon.Event, ids []andon.DeviceID, bytes int) {
	const eventBytes = 12 // without its texts
	devices := 0
	for i := range events {
		if e := &events[i]; i == 0 || e.Device != events[i-1].Device {
			devices++
		}
		bytes += eventBytes + len(events[i].Message) + len(events[i].Attributes)
	}
	groups, ids = make([][]andon.Event, 0, devices), make([]andon.DeviceID, 0, devices)
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Device == events[0].Device {
			n++
		}
		groups, ids = append(groups, events[:n]), append(ids, events[0].Device)
		events = events[n:]
	}
	return groups, ids, bytes
}

func (w *writing) append(d *current.Device, events []andon.Event) error {
	events = w.inLogOrder(events)
	if err := w.resolve(d, events); err != nil {
		return err
	}
	w.encoded = w.names.AppendEntries(w.encoded, w.received, events, w.operators)
	w.base = events[len(events)-1].Time
	return w.events(d, events)
}

// inLogOrder returns the events of one device in the order of the log by the severities of now,
// which is another one only where the device has several states at one instant.
func (w *writing) inLogOrder(events []andon.Event) []andon.Event {
	byKey := func(a, b andon.Event) int { return a.Key(w.states).Compare(b.Key(w.states)) }
	for i := 1; i < len(events); i++ {
		if events[i].Time == events[i-1].Time && byKey(events[i-1], events[i]) > 0 {
			events = slices.Clone(events)
			slices.SortFunc(events, byKey)
			break
		}
	}
	return events
}

// resolve sets w.operators to the operator of each event: whom it names, else whoever was assigned
// to the device at its time. Nearly always that is the newest assignment.
func (w *writing) resolve(d *current.Device, events []andon.Event) error {
	w.operators = w.operators[:0]
	last := -1 // of those before the newest assignment
	for i := range events {
		e, operator := &events[i], events[i].Operator
		if operator == "" && d.AssignedFrom != 0 {
			if operator = d.Assignee; e.Time < d.AssignedFrom {
				operator, last = "", i
			}
		}
		w.operators = append(w.operators, operator)
	}
	if last < 0 {
		return nil
	}
	return w.resolveEarlier(events[:last+1])
}

// resolveEarlier reads the list of assignments, once for all events of a device.
func (w *writing) resolveEarlier(events []andon.Event) error {
	w.past.folded.reads++
	last := len(events) - 1
	before := andon.PageQuery{Order: andon.Desc, After: events[last].Time + 1}
	take := func(a andon.Assignment) (more bool) {
		for ; last >= 0 && events[last].Time >= a.From; last-- {
			if events[last].Operator == "" {
				w.operators[last] = a.Operator
			}
		}
		return last >= 0
	}
	return w.store.assignments(w.ctx, w.tenant, events[last].Device, before, take)
}

// setEscalation writes an escalation, and the index row for its supervisor.
func (w *writing) setEscalation(e *andon.Escalation) {
	tenant := w.tenant.number
	w.batch.Put(layout.EscalationKey(tenant, e), layout.AppendEscalation(nil, e))
	if e.To != "" {
		entry := andon.EventKey{Time: e.Time, State: e.State, Device: e.Device}
		w.batch.Put(layout.SupervisorKey(tenant, e.To, entry), nil)
	}
}

// events folds the events of one device, oldest first, with w.operators.
func (w *writing) events(d *current.Device, events []andon.Event) error {
	f := w.past.folded
	f.entries = len(events)
	gone := w.tenant.withdrawn.List(d.ID)
	for i := range events {
		e := &events[i]
		if e.EscalatedTo != "" {
			w.setEscalation(&andon.Escalation{
				Device: e.Device, Time: e.Time, State: e.State, At: e.Time, To: e.EscalatedTo,
			})
		}
		if gone.Contains(andon.EntryRef{Time: e.Time, State: e.State}) {
			continue
		}
		state, was := w.state(e.State), shownBy(d)
		operator := retain(w.operators[i], d.Operator)
		err := d.Apply(current.Entry{
			Time: e.Time, Severity: w.states.Severity(state), State: state, Operator: operator,
		}, w.states, &w.past)
		if err != nil {
			return err
		}
		if e.EscalatedTo != "" {
			to := andon.PersonID(strings.Clone(string(e.EscalatedTo)))
			err := d.Escalate(current.Escalation{
				Entry: e.Time, State: state, At: e.Time, To: to,
			}, w.states, &w.past)
			if err != nil {
				return err
			}
		}
		if e.EscalatedTo != "" || shownBy(d) != was {
			f.entry = andon.EntryRef{Time: e.Time, State: state}
		}
	}
	return nil
}

// shown is what an entry may change of what a device shows.
type shown struct {
	state           andon.State
	since, incident andon.Time
	operator        andon.PersonID
}

func shownBy(d *current.Device) shown {
	return shown{d.State, d.Since, d.Incident, d.Operator}
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
func (w *writing) state(name andon.State) andon.State {
	if name == w.lastState { // as nearly always
		return w.lastState
	}
	if kept, ok := w.tenant.seen()[name]; ok {
		w.lastState = kept
		return kept
	}
	if kept, ok := w.newStates[name]; ok {
		return kept
	}
	if w.newStates == nil {
		w.newStates = map[andon.State]andon.State{}
	}
	kept := andon.State(strings.Clone(string(name)))
	w.newStates[kept] = kept
	w.key = w.key.Begin(layout.TableStateSeen, w.tenant.number).Text(string(kept))
	w.batch.Put(w.key, nil)
	return kept
}
