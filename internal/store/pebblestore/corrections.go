package pebblestore

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
)

// Withdraw is of andon.Corrections. The record of the withdrawal and what the device shows without
// the entry are one batch.
func (s *Store) Withdraw(
	ctx context.Context, id andon.TenantID, sent andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	t, err := s.writable(ctx, id)
	if err != nil {
		return sent, false, err
	}
	ref := andon.EntryRef{Time: sent.Time, State: andon.State(strings.Clone(string(sent.State)))}
	w, err := s.newWrite(ctx, t, 0, 1, 256)
	if err != nil {
		return sent, false, err
	}
	w.kind = andon.ByWithdrawal
	defer w.close()
	w.fold = func(_ int, d *current.Device) (err error) {
		kept, added, err = w.withdraw(d, sent, ref)
		return err
	}
	w.rows = func() error {
		if !added {
			return nil // that it is durable is known once this write is, which holds nothing
		}
		k := withdrawalKey(t.number, sent.Device, ref)
		return w.batch.Set(k, appendWithdrawal(nil, &kept), nil)
	}
	w.ordered = func() {
		if d := w.changes.Device(0); added {
			t.withdrawn.set(d.ID, append(slices.Clip(t.withdrawn.of(d.ID)), ref))
		}
	}
	w.add([]andon.DeviceID{sent.Device})
	if err = w.foldAll(); err == nil {
		err = s.commit(w)
	}
	return kept, added, err
}

// withdraw folds a device without an entry, unless that was withdrawn already.
func (w *writing) withdraw(
	d *current.Device, sent andon.Withdrawal, ref andon.EntryRef,
) (kept andon.Withdrawal, added bool, err error) {
	w.past.folded.looks++
	there, err := entry(w.ctx, w.store.db, w.tenant, sent.Device, sent.Time, sent.State)
	switch {
	case err != nil:
		return sent, false, err
	case there.Withdrawn != nil:
		return *there.Withdrawn, false, nil
	}
	gone := func(e andon.EntryRef) bool {
		return e == ref || w.tenant.withdrawn.has(d.ID, e.Time, e.State)
	}
	return sent, true, w.refoldFromLog(d, gone)
}

// refoldFromLog works a device out again from its log without the entries that are gone.
func (w *writing) refoldFromLog(d *current.Device, gone func(andon.EntryRef) bool) error {
	was := d.State
	err := d.Refold(w.log(d.ID), w.states, gone, w.past)
	if kept, ok := w.tenant.seen()[d.State]; ok && d.State != was {
		d.State = kept
	}
	return err
}

// log returns the entries of a device, withdrawn or not, newest first.
func (w *writing) log(device andon.DeviceID) iter.Seq2[current.Logged, error] {
	return func(yield func(current.Logged, error) bool) {
		r, err := newEventReader(w.ctx, w.store.db, w.tenant)
		if err != nil {
			yield(current.Logged{}, err)
			return
		}
		defer r.close()
		r.scan.states, r.scan.all = w.states, true
		q := andon.EventQuery{Limit: math.MaxInt}
		var hits []hit
		for day, err := range r.directory.days(device, q.Span, q.Order) {
			if err == nil {
				hits, err = r.scan.day(hits[:0], device, day, &q, q.Limit)
			}
			if err != nil {
				yield(current.Logged{}, err)
				return
			}
			w.past.folded.looks++
			w.past.folded.entries += len(hits)
			for _, h := range sortHits(hits, q.Order, q.Limit) {
				if !yield(h.logged(), nil) {
					return
				}
			}
		}
	}
}

func (h *hit) logged() current.Logged {
	e := current.Logged{Entry: current.Entry{
		Time: h.key.Time, Severity: h.key.Severity, State: h.key.State,
		Operator: h.event.Operator,
	}}
	if h.escalated != 0 {
		e.Escalated = current.Escalation{
			Entry: h.key.Time, State: h.key.State, At: h.escalated, To: h.event.EscalatedTo,
		}
	}
	return e
}

// Purge is of andon.Corrections: one batch, with a record that ends what the device showed. It is
// alone, because it deletes rows that another write may rely on; what takes long it reads before.
func (s *Store) Purge(ctx context.Context, id andon.TenantID, device andon.DeviceID) error {
	t, err := s.writable(ctx, id)
	if err != nil {
		return err
	}
	p := purging{store: s, ctx: ctx, tenant: t, device: device}
	s.checkpoints.running.Lock()
	defer s.checkpoints.running.Unlock()
	if err := p.enter(); err != nil {
		return err
	}
	defer t.writes.Unlock()
	w := s.beginWrite(ctx, t, 0, 1, 4096)
	w.alone, w.kind = true, andon.ByPurge
	defer w.close()
	if found, err := p.rows(w.batch); err != nil || !found {
		return firstError(err, andon.Errorf(andon.NotFound, "nothing is kept of device %q", device))
	}
	w.fold = func(_ int, d *current.Device) error {
		*d = current.Device{ID: d.ID}
		return nil
	}
	w.add([]andon.DeviceID{device})
	if err := w.foldAll(); err != nil {
		return err
	}
	if err := s.commit(w); err != nil {
		return err
	}
	t.withdrawn.set(device, nil)
	s.written.Forget()
	s.drop(t, w.changes.Slot(0))
	return nil
}

// drop gives the place of a device back of which nothing is known any more. The caller is alone.
func (s *Store) drop(t *tenant, slot *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.fleet.Drop(slot)
	t.slots[slices.Index(t.slots, slot)] = nil
}

// purging is one purge under way.
type purging struct {
	store  *Store
	ctx    context.Context
	tenant *tenant
	device andon.DeviceID
	index  []key // of its entries
}

// enter gathers the index rows that name the device, which only its entries know, and has the store
// to itself then. Where the device was written to meanwhile it gathers again, but not for ever.
func (p *purging) enter() error {
	const patience = 3
	for tries := 0; ; tries++ {
		slot, version := p.version()
		if err := p.gather(); err != nil {
			return err
		}
		if err := p.tenant.writes.Lock(p.ctx); err != nil {
			return err
		}
		err := p.store.failed()
		now, since := p.version()
		if same := now == slot && since == version; err == nil && !same {
			if tries < patience {
				p.tenant.writes.Unlock()
				continue
			}
			err = p.gather()
		}
		if err != nil {
			p.tenant.writes.Unlock()
		}
		return err
	}
}

// version tells whether the device was written to.
func (p *purging) version() (*slot, uint32) {
	p.store.mu.RLock()
	defer p.store.mu.RUnlock()
	slot := p.tenant.fleet.Slot(p.device)
	if slot == nil {
		return nil, 0
	}
	return slot, slot.Changes()
}

// gather reads the operators and supervisors of the device's entries.
func (p *purging) gather() error {
	p.index = nil
	number := p.tenant.number
	r, err := newEventReader(p.ctx, p.store.db, p.tenant)
	if err != nil {
		return err
	}
	defer r.close()
	var hour uint32
	var operator andon.PersonID
	for day, err := range r.directory.days(p.device, andon.Span{}, andon.Desc) {
		if err != nil {
			return err
		}
		prefix := newKey(tableEvent, number).number(day).text(string(p.device))
		it := r.scan.it
		for ok := it.SeekGE(prefix); ok && bytes.HasPrefix(it.Key(), prefix); ok = it.Next() {
			state, at, escalated, ok := splitState(it.Key()[len(prefix):])
			if !ok {
				return errDamaged
			}
			if escalated != 0 {
				k := andon.EventKey{Time: at, State: andon.State(state), Device: p.device}
				to := it.Key()[len(prefix)+len(state)+1+2*timeBytes:]
				p.index = append(p.index, supervisorKey(number, andon.PersonID(to), k))
				continue
			}
			var e andon.Event
			value, err := it.ValueAndErr()
			if err == nil {
				err = readEvent(&e, value)
			}
			if err != nil {
				return fmt.Errorf("read event: %w", err)
			}
			if e.Operator != "" && (e.Operator != operator || at.Hour() != hour) {
				operator, hour = e.Operator, at.Hour()
				p.index = append(p.index, newKey(tableOperator, number).
					text(string(operator)).number(hour).text(string(p.device)))
			}
		}
		if err := it.Error(); err != nil {
			return err
		}
	}
	return nil
}

// rows deletes all rows of the device, and reports whether anything was kept of it.
func (p *purging) rows(batch *pebble.Batch) (found bool, err error) {
	number, device := p.tenant.number, string(p.device)
	for _, of := range []struct{ days, rows byte }{
		{tableDay, tableEvent}, {tableReadingDay, tableReading},
	} {
		d, err := newDirectory(p.ctx, p.store.db, p.tenant, of.days)
		if err != nil {
			return false, err
		}
		for day, err := range d.days(p.device, andon.Span{}, andon.Desc) {
			if err == nil {
				found = true
				k := newKey(of.rows, number).number(day).text(device)
				err = batch.DeleteRange(k, k.end(), nil)
			}
			if err != nil {
				d.close()
				return false, err
			}
		}
		d.close()
	}
	for _, k := range p.index {
		if err := batch.Delete(k, nil); err != nil {
			return false, err
		}
	}
	for _, table := range []byte{
		tableDay, tableReadingDay, tableAside, tableAssignment, tableWithdrawal, tableRetirement,
	} {
		k := newKey(table, number).text(device)
		if err := batch.DeleteRange(k, k.end(), nil); err != nil {
			return false, err
		}
	}
	e := expiry{ctx: p.ctx, store: p.store, tenant: number}
	err = e.owners(tableMetric, func(_ *iterator, owner key) error {
		return batch.Delete(owner.text(device), nil)
	})
	if p.tenant.hadReadings.Load() {
		err = firstError(err, batch.Set(hadReadingsKey(number), []byte{1}, nil))
	}
	if slot := p.tenant.fleet.Slot(p.device); slot != nil {
		found = found || slot.Latest().Known()
		k := newKey(tableCheckpoint, number).number(slot.Note.number)
		err = firstError(err, batch.Delete(k, nil))
	}
	return found, err
}
