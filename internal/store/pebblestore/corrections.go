package pebblestore

import (
	"context"
	"iter"
	"math"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Withdraw implements andon.Corrections. The record of the withdrawal and what the device shows
// without the entry are one batch.
func (s *Store) Withdraw(
	ctx context.Context, id andon.TenantID, sent andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	t, err := s.writable(ctx, id)
	if err != nil {
		return sent, false, err
	}
	ref := andon.EntryRef{Time: sent.Time, State: andon.State(strings.Clone(string(sent.State)))}
	devices := []andon.DeviceID{sent.Device}
	err = s.change(ctx, t, andon.ByWithdrawal, devices, 256, func(w *writing) {
		w.fold = func(_ int, d *current.Device) (err error) {
			kept, added, err = w.withdraw(d, sent, ref)
			return err
		}
		w.rows = func() {
			if added { // else that it is durable is known once this write is, which holds nothing
				k := layout.WithdrawalKey(t.number, sent.Device, ref)
				w.batch.Put(k, layout.AppendWithdrawal(nil, &kept))
			}
		}
		w.ordered = func() {
			if added {
				t.withdrawn.Add(w.changes.Device(0).ID, ref)
			}
		}
	})
	return kept, added, err
}

// withdraw folds a device without an entry, unless that was withdrawn already.
func (w *writing) withdraw(
	d *current.Device, sent andon.Withdrawal, ref andon.EntryRef,
) (kept andon.Withdrawal, added bool, err error) {
	w.past.folded.reads++
	r := w.store.reader(w.ctx, w.tenant)
	defer r.Close()
	there, err := w.store.entry(r, w.tenant, sent.Device, sent.Time, sent.State)
	switch {
	case err != nil:
		return sent, false, err
	case there.Withdrawn != nil:
		return *there.Withdrawn, false, nil
	}
	gone := func(e andon.EntryRef) bool {
		return e == ref || w.tenant.withdrawn.Contain(d.ID, e.Time, e.State)
	}
	return sent, true, w.refoldFromLog(d, gone)
}

// refoldFromLog computes a device again from its log without the entries that are gone.
func (w *writing) refoldFromLog(d *current.Device, gone func(andon.EntryRef) bool) error {
	was := d.State
	err := d.Refold(w.log(d.ID), w.states, gone, &w.past)
	if kept, ok := w.tenant.seen()[d.State]; ok && d.State != was {
		d.State = kept
	}
	return err
}

// log returns the entries of a device, withdrawn or not, newest first, down to the floor of what
// the tenant keeps. Of what is older some may have expired, and some still be there: the
// device knows what mattered of it.
func (w *writing) log(device andon.DeviceID) iter.Seq2[current.Logged, error] {
	return seq.Of(func(yield func(current.Logged) bool) error {
		all := w.store.source(w.tenant)
		all.States, all.Withdrawn = w.states, nil
		r := w.store.log.NewReader(w.ctx, all)
		defer r.Close()
		var day uint32
		kept := andon.EventQuery{Limit: math.MaxInt}
		kept.Span.From = w.tenant.record.Load().Floor.Events
		for h, err := range r.Device(device, &kept) {
			if err != nil {
				return err
			}
			if is := h.Event.Time.Day(); is != day {
				day = is
				w.past.folded.reads++
			}
			w.past.folded.entries++
			if !yield(logged(&h)) {
				return nil
			}
		}
		return nil
	})
}

// logged is an entry with its newest escalation.
func logged(h *entries.Hit) current.Logged {
	e := current.Logged{Entry: current.Entry{
		Time: h.Event.Time, Severity: h.Severity, State: h.Event.State,
		Operator: h.Event.Operator,
	}}
	if h.EscalatedAt != 0 {
		e.Escalated = current.Escalation{
			Entry: h.Event.Time, State: h.Event.State, At: h.EscalatedAt, To: h.Event.EscalatedTo,
		}
	}
	return e
}

// Purge implements andon.Corrections: one batch, with a row that ends what the device showed and
// drops the entries of earlier rows. It is alone, because it deletes rows that another write may
// rely on, and no flush runs, which would write blocks of what it deletes.
func (s *Store) Purge(ctx context.Context, id andon.TenantID, device andon.DeviceID) error {
	t, err := s.writable(ctx, id)
	if err != nil {
		return err
	}
	return s.exclusively(func(d deletions) error {
		if err := t.writes.Lock(ctx); err != nil {
			return err
		}
		defer t.writes.Unlock()
		if err := s.pipe.Failed(); err != nil {
			return err
		}
		return s.purge(ctx, t, device, d)
	})
}

func (s *Store) purge(
	ctx context.Context, t *tenant, device andon.DeviceID, d deletions,
) error {
	w := s.beginWrite(ctx, t, 0, 1, 4096)
	w.alone, w.kind = true, andon.ByPurge
	defer w.close()
	found, err := w.deleteDevice(d, device)
	switch {
	case err != nil:
		return err
	case !found:
		return andon.Errorf(andon.NotFound, "nothing is kept of device %q", device)
	}
	w.fold = func(_ int, d *current.Device) error {
		*d = current.Device{ID: d.ID}
		return nil
	}
	if err := w.run([]andon.DeviceID{device}); err != nil {
		return err
	}
	t.withdrawn.Forget(device)
	s.written.Forget()
	s.mu.Lock()
	defer s.mu.Unlock()
	t.fleet.Drop(w.changes.Slot(0))
	return nil
}

// deleteDevice deletes all rows of a device, and reports whether anything was kept of it. Postings
// stay: they only say where to look, and the device has no number any more.
func (w *writing) deleteDevice(d deletions, device andon.DeviceID) (found bool, err error) {
	t, number, b := w.tenant, w.tenant.number, &w.batch
	if slot := t.fleet.Slot(device); slot != nil {
		if found, err = d.entries.Device(w.ctx, b, t.entries, slot.Number()); err != nil {
			return false, err
		}
		b.Remove(layout.NewKey(layout.TableCheckpoint, number).Number(slot.Number()))
		latest := t.fleet.Latest(slot)
		found = found || latest.Known()
	}
	measured, err := d.readings.Device(w.ctx, b, t.readings, string(device))
	if err != nil {
		return false, err
	}
	if err := w.deleteSupervised(device); err != nil {
		return false, err
	}
	keepNumbers(b, t)
	for _, table := range []byte{
		layout.TableEscalation, layout.TableAssignment, layout.TableWithdrawal,
		layout.TableRetirement,
	} {
		b.RemovePrefix(layout.NewKey(table, number).Text(string(device)))
	}
	err = w.store.owners(w.ctx, layout.TableMetric, number, func(owner layout.Key) {
		b.Remove(owner.Text(string(device)))
	})
	if err != nil {
		return false, err
	}
	if t.hadReadings.Load() {
		b.Put(layout.HadReadingsKey(number), []byte{1})
	}
	return found || measured, b.Err
}

// deleteSupervised deletes the index rows of a device's escalations.
func (w *writing) deleteSupervised(device andon.DeviceID) error {
	prefix := layout.NewKey(layout.TableEscalation, w.tenant.number).Text(string(device))
	for it, err := range engine.Rows(w.ctx, w.store.db, prefix) {
		if err != nil {
			return err
		}
		e, ok := layout.SplitEscalation(it.Key()[len(prefix):])
		if !ok {
			return layout.ErrDamaged
		}
		entry := andon.EventKey{Time: e.Time, State: e.State, Device: device}
		w.batch.Remove(layout.SupervisorKey(w.tenant.number, e.To, entry))
	}
	return nil
}
