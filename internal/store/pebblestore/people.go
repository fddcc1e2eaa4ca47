package pebblestore

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Escalate implements andon.Log. An escalation that exists already may still be pending. It is
// durable when this write is, which then holds nothing.
func (s *Store) Escalate(
	ctx context.Context, id andon.TenantID, e andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	t, err := s.writable(ctx, id)
	if err != nil {
		return e, false, err
	}
	devices := []andon.DeviceID{e.Device}
	err = s.change(ctx, t, andon.ByEscalation, devices, 256, func(w *writing) {
		w.fold = func(_ int, d *current.Device) (err error) {
			kept, added, err = w.escalate(d, e)
			return err
		}
		w.rows = func() {
			if added {
				w.setEscalation(&kept)
			}
		}
	})
	return kept, added, err
}

// sync returns when all that was written before is on the disk.
func (s *Store) sync() error {
	if err := s.db.LogData(nil, pebble.Sync); err != nil {
		return s.pipe.End(fmt.Errorf("write store to disk: %w", err))
	}
	return nil
}

// writable returns a tenant that is there, when there is space to write.
func (s *Store) writable(ctx context.Context, id andon.TenantID) (*tenant, error) {
	t, err := s.tenant(ctx, id)
	if err == nil {
		err = s.dir.Disk.Admit(ctx, false)
	}
	return t, err
}

// escalate folds an escalation, unless it repeats the newest of the entry.
func (w *writing) escalate(
	d *current.Device, e andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	is, again, err := w.currentOf(d, &e)
	if err != nil || again || e.Repeats(&is) {
		return is, false, err
	}
	if is.At != 0 {
		e.At = max(e.At, is.At+1)
	}
	return e, true, d.Escalate(current.Escalation{
		Entry: e.Time, State: andon.State(strings.Clone(string(e.State))),
		At: e.At, To: retain(e.To, ""),
	}, w.states, &w.past)
}

// currentOf returns the record that counts of the entry of e, or e itself, where that record is
// there already. It is NotFound where neither the entry is there nor the device shows it: what a
// device shows can be escalated although its history has expired.
func (w *writing) currentOf(
	d *current.Device, e *andon.Escalation,
) (is andon.Escalation, again bool, err error) {
	w.past.folded.reads++
	shown, err := d.EscalationOf(e.Time, e.State, &w.past)
	if err != nil {
		return is, false, err
	}
	if w.tenant.withdrawn.Contain(e.Device, e.Time, e.State) {
		return is, false, andon.NoEntry(e.Device, e.Time, e.State)
	}
	is, again, err = w.store.escalation(w.ctx, w.tenant, e)
	if err != nil {
		shows := d.Alive() && ((d.Time == e.Time && d.State == e.State) || shown.At != 0)
		if andon.KindOf(err) != andon.NotFound || !shows {
			return is, false, err
		}
	}
	if again {
		return *e, true, nil
	}
	// In memory a record outlives the history, but for its maker and note.
	if shown.At > is.At {
		is = andon.Escalation{At: shown.At, To: shown.To}
	}
	is.Device, is.Time, is.State = e.Device, e.Time, e.State
	return is, false, nil
}

// escalation returns the newest escalation record of the entry of e, and whether e is among all of
// them. It reads no more than that, however many there are.
func (s *Store) escalation(
	ctx context.Context, t *tenant, e *andon.Escalation,
) (newest andon.Escalation, again bool, err error) {
	r := s.reader(ctx, t)
	defer r.Close()
	if _, err := r.Event(e.Device, e.Time, e.State); err != nil {
		return newest, false, err
	}
	found := false
	for newest, err = range r.Escalations(e.Device, e.Time, e.State) {
		if found = true; err != nil {
			return newest, false, err
		}
		break
	}
	if !found {
		return newest, false, nil
	}
	there, err := s.get(layout.EscalationKey(t.number, e))
	return newest, there != nil && bytes.Equal(there, layout.AppendEscalation(nil, e)), err
}

// Retire implements andon.Current.
func (s *Store) Retire(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, at andon.Time,
) (retired andon.Time, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return 0, err
	}
	devices := []andon.DeviceID{device}
	err = s.change(ctx, t, andon.ByRetirement, devices, 256, func(w *writing) {
		w.frees = true // its history expires, and nothing comes after
		w.fold = func(_ int, d *current.Device) error {
			if !d.Alive() {
				return andon.NoDevice(device)
			}
			retired = d.Retire(at)
			return nil
		}
		w.rows = func() { w.retirement(device, retired) }
	})
	return retired, err
}

// retirement puts the row of a retirement into the batch.
func (w *writing) retirement(device andon.DeviceID, at andon.Time) {
	k := layout.NewKey(layout.TableRetirement, w.tenant.number).Text(string(device)).Time(at)
	w.batch.Put(k, nil)
}

// Retirements implements andon.Current.
func (s *Store) Retirements(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) ([]andon.Time, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	prefix := layout.NewKey(layout.TableRetirement, t.number).Text(string(device))
	var all []andon.Time
	for it, err := range engine.Rows(ctx, s.db, prefix) {
		if err != nil {
			return nil, err
		}
		at, _, ok := layout.TakeTime(it.Key()[len(prefix):])
		if !ok {
			return nil, layout.ErrDamaged
		}
		all = append(all, at)
	}
	return all, nil
}
