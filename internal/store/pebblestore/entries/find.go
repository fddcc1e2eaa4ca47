package entries

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// Step is how many entries are looked for at once, so that writers are not held up.
const Step = 256

// wanted is an entry that is looked for among others.
type wanted struct {
	event    *andon.Event // its device, time and state; the rest is filled in
	device   deviceLog
	numbered bool // the device has a number
	found    bool
}

// inBlocks reports whether the entry may be in blocks.
func (w wanted) inBlocks() bool { return w.numbered && !w.found }

// find looks for entries of many devices, at most Step of them: in memory under one lock, then in
// blocks in the order in which these are stored. To look for each by itself takes as long for locks
// and seeks as for all that is found.
func (r *Reader) find(all []wanted) error {
	r.devices.Lock()
	for i := range all {
		w := &all[i]
		w.device.id = w.event.Device
		w.device.number, w.numbered = r.devices.Number(w.event.Device)
	}
	r.devices.Unlock()
	if r.findInMemory(all); !slices.ContainsFunc(all, wanted.inBlocks) {
		return nil
	}
	order := sortedIndexes(len(all), func(a, b int) int {
		is, other := &all[a], &all[b]
		return cmp.Or(cmp.Compare(is.event.Time.Day(), other.event.Time.Day()),
			cmp.Compare(is.device.number, other.device.number))
	})
	for len(order) > 0 {
		day, n := all[order[0]].event.Time.Day(), 1
		for n < len(order) && all[order[n]].event.Time.Day() == day {
			n++
		}
		if err := r.findOnDay(all, order[:n], day); err != nil {
			return err
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
			var err error
			if w.found, err = r.findInRun(&w.device, run.RunID, w.event); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Reader) findInMemory(all []wanted) {
	r.memory.LookUp(r.tenant.Number, func(find Find) {
		for i := range all {
			w := &all[i]
			if !w.numbered {
				continue
			}
			is, ok := find(w.device.number, w.event.Time, w.event.State)
			if ok {
				r.fillIn(w.event, &is)
				w.found = true
			}
		}
	})
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
	events := make([]andon.Event, len(keys))
	asked := make([]wanted, 0, len(keys))
	for _, i := range sortedIndexes(len(keys), func(a, b int) int {
		is, other := &keys[a], &keys[b]
		return cmp.Or(cmp.Compare(is.Device, other.Device), cmp.Compare(other.Time, is.Time),
			cmp.Compare(is.State, other.State))
	}) {
		k := &keys[i]
		current, err := r.isEscalatedTo(supervisor, k)
		if err != nil {
			return nil, err
		}
		if current && !r.withdrawn.Contain(k.Device, k.Time, k.State) {
			events[i] = andon.Event{
				Device: k.Device, Time: k.Time, State: k.State, EscalatedTo: supervisor,
			}
			asked = append(asked, wanted{event: &events[i]})
		}
	}
	if err := r.find(asked); err != nil {
		return nil, err
	}
	for _, w := range asked {
		if !w.found {
			*w.event = andon.Event{}
		}
	}
	return slices.DeleteFunc(events, func(e andon.Event) bool { return e.Device == "" }), nil
}

// isEscalatedTo reports whether the newest escalation of an entry is to a supervisor.
func (r *Reader) isEscalatedTo(supervisor andon.PersonID, k *andon.EventKey) (bool, error) {
	if err := r.openEscalations(); err != nil {
		return false, err
	}
	r.of = r.of.Begin(layout.TableEscalation, r.tenant.Number).Entry(k.Device, k.Time, k.State)
	if !r.escalations.SeekGE(r.of) || !bytes.HasPrefix(r.escalations.Key(), r.of) {
		return false, r.escalations.Error()
	}
	_, to, ok := layout.TakeInvertedTime(r.escalations.Key()[len(r.of):])
	if !ok {
		return false, layout.ErrDamaged
	}
	return string(to) == string(supervisor), nil
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

// fillIn enters what an entry has in addition to its identity.
func (r *Reader) fillIn(e *andon.Event, is *eventlog.Entry) {
	text := r.keep(is.Message, is.Attributes)
	e.Operator, e.Message = is.Operator, text[:len(is.Message)]
	e.Attributes = andon.JSON(text[len(is.Message):])
}

// keep returns texts as one string, which is valid for good. The texts of an answer share memory:
// each with its own costs more than to decode it.
func (r *Reader) keep(texts ...[]byte) string {
	const share = 4 << 10 // at most: what one keeps, all stay for
	n := 0
	for _, text := range texts {
		n += len(text)
	}
	if free := r.kept.Cap() - r.kept.Len(); n > free {
		grown := max(n, min(2*r.kept.Cap(), share))
		r.kept = strings.Builder{}
		r.kept.Grow(grown)
	}
	from := r.kept.Len()
	for _, text := range texts {
		r.kept.Write(text)
	}
	return r.kept.String()[from:]
}

// findInRun looks into the one block of a run whose span has the time of the entry.
func (r *Reader) findInRun(
	d *deviceLog, id layout.RunID, e *andon.Event,
) (found bool, err error) {
	r.key = r.key[:0].Number(d.number)
	only := andon.Span{From: e.Time, To: e.Time}
	_, err = r.blocks.Device(e.Time.Day(), id, r.key, only, andon.Desc,
		func(at layout.BlockSpan, span andon.Span) (_ andon.Span, err error) {
			found, err = r.findInBlock(at, e)
			return span, err
		})
	return found, err
}

// findInBlock fills in an entry where the block that the reader is at has it.
func (r *Reader) findInBlock(at layout.BlockSpan, e *andon.Event) (found bool, err error) {
	rows, err := r.rows(at, func(state andon.State) bool { return state == e.State })
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(rows, func(is eventlog.Entry) bool {
		return is.Time == e.Time && is.State == e.State
	})
	if i < 0 {
		return false, nil
	}
	if err := r.decoder.Texts(i + 1); err != nil {
		return false, err
	}
	r.inBlocks.scanned += i + 1
	r.inBlocks.rows++
	r.fillIn(e, &rows[i])
	return true, nil
}
