package entries

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Step is how many entries are looked for at once, so that writers are not held up.
const Step = 256

// wanted is an entry that is looked for among others.
type wanted struct {
	event    *andon.Event // its device, time and state; the rest is filled in
	device   deviceLog
	changes  uint32 // of the device, before the entry was looked for
	numbered bool   // the device has a number
	found    bool
}

// inBlocks reports whether the entry may be in blocks.
func (w wanted) inBlocks() bool { return w.numbered && !w.found }

// only selects what is of the time of the entry.
func (w *wanted) only() *andon.EventQuery {
	return &andon.EventQuery{Span: andon.Span{From: w.event.Time, To: w.event.Time}}
}

// take fills in the entry, if it is among hits of its time.
func (w *wanted) take(hits []Hit) {
	for i := range hits {
		if is := &hits[i].Event; is.State == w.event.State {
			w.fill(is)
		}
	}
}

func (w *wanted) fill(is *andon.Event) {
	w.event.Operator, w.event.Message = is.Operator, is.Message
	w.event.Attributes, w.found = is.Attributes, true
}

// number finds the numbers of the devices, and how often each has changed. Escalations are read by
// an iterator that is opened afterwards, so it has these changes.
func (r *Reader) number(all []wanted) {
	r.closeEscalations()
	r.shown.Lock()
	defer r.shown.Unlock()
	for i := range all {
		w := &all[i]
		w.device.id = w.event.Device
		if slot := r.fleet.Slot(w.event.Device); slot != nil {
			w.numbered, w.device.number, w.changes = true, slot.Number(), slot.Changes()
		}
	}
}

// find looks for entries of many devices, at most Step of them: among those that were found before,
// in memory, then in blocks in the order in which these are stored. To look for each by itself
// takes as long for seeks as for all that is found.
func (r *Reader) find(all []wanted) error {
	r.number(all)
	whole := r.log.Memory.takesInto(r.memory)
	for i := range all {
		if w := &all[i]; w.numbered {
			if r.log.recent.find(r.tenant.Number, w); w.found {
				r.again.scanned, r.again.rows = r.again.scanned+1, r.again.rows+1
			}
		}
		if w := &all[i]; w.inBlocks() {
			r.buffers.hits = r.takeMemory(r.buffers.hits[:0], &w.device, w.only(), math.MaxInt)
			w.take(r.buffers.hits)
		}
	}
	if !slices.ContainsFunc(all, wanted.inBlocks) {
		return nil
	}
	order := sortedIndexes(len(all), func(a, b int) int {
		is, other := &all[a], &all[b]
		return cmp.Or(cmp.Compare(is.event.Time.Day(), other.event.Time.Day()),
			cmp.Compare(is.device.number, other.device.number))
	})
	order = slices.DeleteFunc(order, func(i int) bool { return !all[i].inBlocks() })
	for len(order) > 0 {
		day, n := all[order[0]].event.Time.Day(), 1
		for n < len(order) && all[order[n]].event.Time.Day() == day {
			n++
		}
		if err := r.findOnDay(all, order[:n], day); err != nil {
			return err
		}
		for _, i := range order[:n] {
			if w := &all[i]; whole && w.found {
				r.log.recent.add(r.tenant.Number, w)
			}
		}
		order = order[n:]
	}
	return nil
}

// findOnDay looks for entries of a day, by rising numbers of devices, in blocks.
func (r *Reader) findOnDay(all []wanted, order []int, day uint32) error {
	if err := r.open(); err != nil {
		return err
	}
	for run := range r.blocks.Runs(day, andon.Desc) {
		for _, i := range order {
			w := &all[i]
			if !w.inBlocks() || !run.Holds(w.event.Time) {
				continue
			}
			q := w.only()
			hits, _, err := r.takeRun(
				r.buffers.hits[:0], &w.device, day, run.RunID, q.Span, q, math.MaxInt)
			if err != nil {
				return err
			}
			r.buffers.hits = hits
			w.take(hits)
		}
	}
	return nil
}

// sortedIndexes returns the numbers below n in an order.
func sortedIndexes(n int, compare func(a, b int) int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, compare)
	return order
}

// escalatedTo returns those of entries that are escalated to a supervisor now, in their order.
func (r *Reader) escalatedTo(
	supervisor andon.PersonID, keys []andon.EventKey,
) ([]andon.Event, error) {
	events, asked := make([]andon.Event, len(keys)), make([]wanted, 0, len(keys))
	for _, i := range sortedIndexes(len(keys), func(a, b int) int {
		is, other := &keys[a], &keys[b]
		return cmp.Or(cmp.Compare(is.Device, other.Device), cmp.Compare(other.Time, is.Time),
			cmp.Compare(is.State, other.State))
	}) {
		k := &keys[i]
		events[i] = andon.Event{Device: k.Device, Time: k.Time, State: k.State}
		asked = append(asked, wanted{event: &events[i]})
	}
	r.number(asked)
	current := asked[:0]
	for _, w := range asked {
		is, err := r.newestEscalation(&w, andon.EntryRef{Time: w.event.Time, State: w.event.State})
		if err != nil {
			return nil, err
		}
		if is.To != supervisor || r.withdrawn.Contain(is.Device, is.Time, is.State) {
			*w.event = andon.Event{}
			continue
		}
		andon.NoteEscalation(r.ctx, is)
		w.event.EscalatedTo = supervisor
		current = append(current, w)
	}
	if err := r.find(current); err != nil {
		return nil, err
	}
	for _, w := range current {
		if !w.found {
			*w.event = andon.Event{}
		}
	}
	return slices.DeleteFunc(events, func(e andon.Event) bool { return e.Device == "" }), nil
}

// newestEscalation returns the newest escalation of an entry of the device of w, which was
// numbered. To is absent where it was withdrawn. At is 0 where the entry was never escalated. It
// has its maker and note for a caller that collects escalations.
func (r *Reader) newestEscalation(w *wanted, of andon.EntryRef) (andon.Escalation, error) {
	e := andon.Escalation{Device: w.event.Device, Time: of.Time, State: of.State}
	if r.log.recent.findEscalation(r.tenant.Number, w, &e) {
		return e, nil
	}
	if err := r.openEscalations(); err != nil {
		return e, err
	}
	r.of = r.of.Begin(layout.TableEscalation, r.tenant.Number).Entry(e.Device, e.Time, e.State)
	if !r.escalations.SeekGE(r.of) || !bytes.HasPrefix(r.escalations.Key(), r.of) {
		return e, r.escalations.Error()
	}
	at, to, ok := layout.TakeInvertedTime(r.escalations.Key()[len(r.of):])
	if !ok {
		return e, layout.ErrDamaged
	}
	e.At, e.To = at, andon.PersonID(to)
	if !andon.CollectsEscalations(r.ctx) {
		return e, nil
	}
	if err := r.readNote(&e); err != nil {
		return e, err
	}
	r.log.recent.addEscalation(r.tenant.Number, w, &e)
	return e, nil
}

// Event returns one entry, withdrawn or not, without its escalations; NotFound where it is not
// there.
func (r *Reader) Event(
	device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Event, error) {
	e := andon.Event{Device: device, Time: at, State: state}
	r.wanted = append(r.wanted[:0], wanted{event: &e})
	err := r.find(r.wanted)
	if err == nil && !r.wanted[0].found {
		err = andon.NoEntry(device, at, state)
	}
	return e, err
}
