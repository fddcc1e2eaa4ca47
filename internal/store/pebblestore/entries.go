package pebblestore

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/andonhq/andon"
)

// entriesStep is how many entries are looked for at once, so that writers are not held up.
const entriesStep = 256

// wanted is an entry that is looked for among others.
type wanted struct {
	event  *andon.Event // who and when it is; the rest is filled in
	device logged
	placed bool // the device has a place
	found  bool
}

// entries looks for entries of many devices, at most entriesStep of them: in the heads under one
// lock, then in blocks in the order in which these stand. To look for each by itself takes as long
// for locks and seeks as for all that is found.
func (r *eventReader) entries(all []wanted) error {
	r.store.mu.RLock()
	for i := range all {
		w := &all[i]
		w.device.id = w.event.Device
		if slot := r.tenant.fleet.Slot(w.event.Device); slot != nil {
			w.device.number, w.placed = slot.Number(), true
		}
	}
	r.store.mu.RUnlock()
	r.entriesInHeads(all)
	turns := turnsOf(len(all), func(a, b int) int {
		is, other := &all[a], &all[b]
		return cmp.Or(cmp.Compare(is.event.Time.Day(), other.event.Time.Day()),
			cmp.Compare(is.device.number, other.device.number))
	})
	for len(turns) > 0 {
		day, n := all[turns[0]].event.Time.Day(), 1
		for n < len(turns) && all[turns[n]].event.Time.Day() == day {
			n++
		}
		if err := r.entriesOfDay(all, turns[:n], day); err != nil {
			return err
		}
		turns = turns[n:]
	}
	return nil
}

// entriesOfDay looks for entries of a day, by rising numbers of devices, in blocks.
func (r *eventReader) entriesOfDay(all []wanted, turns []int, day uint32) error {
	left := func(i int) bool { return all[i].placed && !all[i].found }
	if !slices.ContainsFunc(turns, left) {
		return nil
	}
	if err := r.open(); err != nil {
		return err
	}
	for run := range r.runsOf(day, andon.Desc) {
		for _, i := range turns {
			w := &all[i]
			if !left(i) || !run.holds(w.event.Time) {
				continue
			}
			var err error
			if w.found, err = r.entryInRun(&w.device, run.sequence, w.event); err != nil {
				return err
			}
		}
	}
	return r.blocks.Error()
}

func (r *eventReader) entriesInHeads(all []wanted) {
	r.heads.mu.RLock()
	defer r.heads.mu.RUnlock()
	for i := range all {
		w := &all[i]
		if !w.placed {
			continue
		}
		is, ok := r.heads.findLocked(
			r.tenant.number, w.device.number, w.event.Time, w.event.State)
		if ok {
			r.fillIn(w.event, &is)
			w.found = true
		}
	}
}

// turnsOf returns the numbers below n in an order.
func turnsOf(n int, compare func(a, b int) int) []int {
	turns := make([]int, n)
	for i := range turns {
		turns[i] = i
	}
	slices.SortFunc(turns, compare)
	return turns
}

// escalatedTo returns those of entries that are escalated to a supervisor now, in their order.
func (r *eventReader) escalatedTo(
	supervisor andon.PersonID, keys []andon.EventKey,
) ([]andon.Event, error) {
	events := make([]andon.Event, len(keys))
	asked := make([]wanted, 0, len(keys))
	for _, i := range turnsOf(len(keys), func(a, b int) int {
		is, other := &keys[a], &keys[b]
		return cmp.Or(cmp.Compare(is.Device, other.Device), cmp.Compare(other.Time, is.Time),
			cmp.Compare(is.State, other.State))
	}) {
		k := &keys[i]
		stands, err := r.standsWith(supervisor, k)
		if err != nil {
			return nil, err
		}
		if stands && !r.tenant.withdrawn.has(k.Device, k.Time, k.State) {
			events[i] = andon.Event{
				Device: k.Device, Time: k.Time, State: k.State, EscalatedTo: supervisor,
			}
			asked = append(asked, wanted{event: &events[i]})
		}
	}
	if err := r.entries(asked); err != nil {
		return nil, err
	}
	for _, w := range asked {
		if !w.found {
			*w.event = andon.Event{}
		}
	}
	return slices.DeleteFunc(events, func(e andon.Event) bool { return e.Device == "" }), nil
}

// standsWith reports whether the newest escalation of an entry is to a supervisor.
func (r *eventReader) standsWith(supervisor andon.PersonID, k *andon.EventKey) (bool, error) {
	if err := r.openEscalations(); err != nil {
		return false, err
	}
	r.of = r.of.begin(tableEscalation, r.tenant.number).escalated(k.Device, k.Time, k.State)
	if !r.escalations.SeekGE(r.of) || !bytes.HasPrefix(r.escalations.Key(), r.of) {
		return false, r.escalations.Error()
	}
	_, to, ok := takeInvertedTime(r.escalations.Key()[len(r.of):])
	if !ok {
		return false, errDamaged
	}
	return string(to) == string(supervisor), nil
}
