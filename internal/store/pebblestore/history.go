package pebblestore

import (
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
)

// history is the past of a device that is folded: the store as it was when the write first read it,
// and what the write itself has set aside. All that was set aside before is among the escalations
// of the device: expiry leaves those of a present incident.
type history struct {
	write  *writing
	device *current.Device
	folded *folded
	put    map[andon.EntryRef]current.Escalation // what was set aside while the device is folded
	anew   bool                                  // what was set aside before no longer counts

	log *entries.Reader // made at the first read
}

var _ current.History = (*history)(nil)

// begin continues with another device.
func (h *history) begin(d *current.Device, f *folded) {
	h.device, h.folded, h.put, h.anew = d, f, nil, false
}

// close has the next read see the store as it is then.
func (h *history) close() {
	if h.log != nil {
		h.log.Close()
		h.log = nil
	}
}

func (h *history) reader() *entries.Reader {
	h.folded.reads++
	if h.log == nil {
		h.log = h.write.store.reader(h.write.ctx, h.write.tenant)
	}
	return h.log
}

// Next implements current.History. Where the history between has expired meanwhile, the answer
// is the newest entry, which is certainly after the key. What a write has folded of the
// device so far lies before the key, because its events come in the order of the log.
func (h *history) Next(after andon.EventKey) (andon.Time, error) {
	after.Device = h.device.ID
	q := andon.EventQuery{
		Span: andon.Span{From: after.Time}, Order: andon.Asc, After: &after, Limit: 1,
	}
	for found, err := range h.reader().Device(h.device.ID, &q) {
		return found.Event.Time, err
	}
	return h.device.Time, nil
}

// SetAside implements current.History.
func (h *history) SetAside(r current.Escalation) {
	if h.put == nil {
		h.put = map[andon.EntryRef]current.Escalation{}
	}
	h.put[andon.EntryRef{Time: r.Entry, State: r.State}] = r // newer than one that is there
}

// ForgetAside implements current.History.
func (h *history) ForgetAside() { h.anew, h.put = true, nil }

// AsideOf implements current.History.
func (h *history) AsideOf(
	entry andon.Time, state andon.State,
) (there current.Escalation, err error) {
	if r, ok := h.put[andon.EntryRef{Time: entry, State: state}]; ok {
		return r, nil
	}
	for r, err := range h.stored(andon.Span{From: entry, To: entry}) {
		if err != nil || r.State == state {
			return r, err
		}
	}
	return there, nil
}

// Aside implements current.History.
func (h *history) Aside(from andon.Time) iter.Seq2[current.Escalation, error] {
	return seq.Of(func(yield func(current.Escalation) bool) error {
		for _, r := range h.put {
			if r.Entry >= from && !yield(r) {
				return nil
			}
		}
		for r, err := range h.stored(andon.Span{From: from}) {
			_, put := h.put[andon.EntryRef{Time: r.Entry, State: r.State}] // a newer one
			if err != nil || !put && !yield(r) {
				return err
			}
		}
		return nil
	})
}

// stored reads the newest escalation of each entry of the device in a span, the newest entry first;
// not of entries that were withdrawn, or are normal.
func (h *history) stored(within andon.Span) iter.Seq2[current.Escalation, error] {
	return seq.Of(func(yield func(current.Escalation) bool) error {
		if h.anew {
			return nil
		}
		gone := h.write.tenant.withdrawn.List(h.device.ID)
		for e, err := range h.reader().NewestEscalations(h.device.ID, within) {
			if err != nil {
				return err
			}
			if gone.Contains(andon.EntryRef{Time: e.Time, State: e.State}) ||
				h.write.states.Severity(e.State) == 0 {
				continue
			}
			if !yield(current.Escalation{Entry: e.Time, State: e.State, At: e.At, To: e.To}) {
				return nil
			}
		}
		return nil
	})
}
