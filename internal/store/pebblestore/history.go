package pebblestore

import (
	"bytes"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
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

	log   *entries.Reader  // made at the first read
	aside *engine.Iterator // likewise
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
	if h.aside != nil {
		h.aside.Release()
		h.aside = nil
	}
}

// Next implements current.History. Where the history between has expired meanwhile, the answer
// is the newest entry, which is certainly after the key. What a write has folded of the
// device so far lies before the key, because its events come in the order of the log.
func (h *history) Next(after andon.EventKey) (andon.Time, error) {
	h.folded.reads++
	if h.log == nil {
		h.log = h.write.store.reader(h.write.ctx, h.write.tenant)
	}
	after.Device = h.device.ID
	q := andon.EventQuery{
		Span: andon.Span{From: after.Time}, Order: andon.Asc, After: &after, Limit: 1,
	}
	for found, err := range h.log.Device(h.device.ID, &q) {
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
	for r, err := range h.rows(h.tenantKey().Entry(h.device.ID, entry, state)) {
		return r, err
	}
	return there, nil
}

func (h *history) tenantKey() layout.Key {
	return layout.NewKey(layout.TableEscalation, h.write.tenant.number)
}

// Aside implements current.History.
func (h *history) Aside(from andon.Time) iter.Seq2[current.Escalation, error] {
	return seq.Of(func(yield func(current.Escalation) bool) error {
		for _, r := range h.put {
			if r.Entry >= from && !yield(r) {
				return nil
			}
		}
		var last andon.EntryRef
		for r, err := range h.rows(h.tenantKey().Text(string(h.device.ID))) {
			if err != nil || r.Entry < from {
				return err // all after it are earlier, too
			}
			entry := andon.EntryRef{Time: r.Entry, State: r.State}
			if _, put := h.put[entry]; put || entry == last {
				continue // there is a newer one
			}
			if last = entry; !yield(r) {
				return nil
			}
		}
		return nil
	})
}

// rows reads the escalations of the device whose keys begin with a prefix: the entries newest
// first, and of each the newest record first; not those of entries that were withdrawn, or are
// normal.
func (h *history) rows(prefix layout.Key) iter.Seq2[current.Escalation, error] {
	return seq.Of(func(yield func(current.Escalation) bool) error {
		if h.anew {
			return nil
		}
		h.folded.reads++
		if h.aside == nil {
			k := h.tenantKey()
			it, err := engine.NewIterator(h.write.ctx, h.write.store.db, k, k.End())
			if err != nil {
				return err
			}
			h.aside = it
		}
		device := len(h.tenantKey().Text(string(h.device.ID)))
		gone := h.write.tenant.withdrawn.List(h.device.ID)
		ok := h.aside.SeekGE(prefix)
		for ; ok && bytes.HasPrefix(h.aside.Key(), prefix); ok = h.aside.Next() {
			e, ok := layout.SplitEscalation(h.aside.Key()[device:])
			if !ok {
				return layout.ErrDamaged
			}
			if gone.Contains(andon.EntryRef{Time: e.Time, State: e.State}) ||
				h.write.states.Severity(e.State) == 0 {
				continue
			}
			if !yield(current.Escalation{Entry: e.Time, State: e.State, At: e.At, To: e.To}) {
				return nil
			}
		}
		return h.aside.Error()
	})
}
