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
// and what the write itself has set aside.
type history struct {
	write  *writing
	device *current.Device
	folded *folded
	put    map[entryID]current.Escalation // what was set aside while the device is folded
	anew   bool                           // what was set aside before does not count any more

	log   *entries.Reader  // made at the first read
	aside *engine.Iterator // likewise
}

// entryID is an entry of one device.
type entryID struct {
	time  andon.Time
	state andon.State
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
	h.folded.aside = append(h.folded.aside, r)
	if h.put == nil {
		h.put = map[entryID]current.Escalation{}
	}
	h.put[entryID{r.Entry, r.State}] = r // newer than one that is there
}

// ForgetAside implements current.History.
func (h *history) ForgetAside() { h.anew, h.put = true, nil }

// AsideOf implements current.History.
func (h *history) AsideOf(
	entry andon.Time, state andon.State,
) (there current.Escalation, err error) {
	if r, ok := h.put[entryID{entry, state}]; ok {
		return r, nil
	}
	k := layout.NewKey(layout.TableOverflow, h.write.tenant.number).Entry(h.device.ID, entry, state)
	for r, err := range h.rows(k) {
		return r, err
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
		var last entryID
		for r, err := range h.rows(layout.NewKey(layout.TableOverflow, h.write.tenant.number).
			Text(string(h.device.ID))) {
			if err != nil || r.Entry < from {
				return err // all after it are earlier, too
			}
			entry := entryID{r.Entry, r.State}
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

// rows reads the rows of the device that begin with a prefix: the entries newest first, and of each
// the newest record first.
func (h *history) rows(prefix layout.Key) iter.Seq2[current.Escalation, error] {
	return seq.Of(func(yield func(current.Escalation) bool) error {
		if h.anew {
			return nil
		}
		h.folded.reads++
		if h.aside == nil {
			k := layout.NewKey(layout.TableOverflow, h.write.tenant.number)
			it, err := engine.NewIterator(h.write.ctx, h.write.store.db, k, k.End())
			if err != nil {
				return err
			}
			h.aside = it
		}
		device := len(layout.NewKey(layout.TableOverflow, 0).Text(string(h.device.ID)))
		ok := h.aside.SeekGE(prefix)
		for ; ok && bytes.HasPrefix(h.aside.Key(), prefix); ok = h.aside.Next() {
			e, ok := layout.SplitEscalation(h.aside.Key()[device:])
			if !ok {
				return layout.ErrDamaged
			}
			if !yield(current.Escalation{Entry: e.Time, State: e.State, At: e.At, To: e.To}) {
				return nil
			}
		}
		return h.aside.Error()
	})
}

// setAside puts the rows of what was set aside into the batch, or deletes all of a device once
// none is wanted any more. It belongs to the ordered section, because a device that is folded again
// may keep what it set aside before.
func (w *writing) setAside() error {
	for i := range w.folded {
		f, d := &w.folded[i], w.changes.Device(i)
		if f.emptied {
			k := layout.NewKey(layout.TableOverflow, w.tenant.number).Text(string(d.ID))
			if err := w.batch.DeleteRange(k, k.End(), nil); err != nil {
				return err
			}
		}
		if d.AsideAt == 0 {
			continue
		}
		for _, r := range f.aside {
			k := layout.NewKey(layout.TableOverflow, w.tenant.number).Entry(d.ID, r.Entry, r.State)
			if err := w.batch.Set(append(k.InvertedTime(r.At), r.To...), nil, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
