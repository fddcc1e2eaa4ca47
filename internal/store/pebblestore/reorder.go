package pebblestore

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// reorderStep is how many devices are computed again in one write.
const reorderStep = 256

// Reorder implements andon.Tenants. The record says Reordering from when the new set was stored
// until all devices follow it, so a crash between leaves it to the next opening. Each step is a
// write like others: it reads the log before its turn, and writes of this tenant and others go on
// between. A device that is written to meanwhile is folded under the new set, and then worked out
// again.
func (s *Store) Reorder(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return andon.Tenant{}, err
	}
	t.reorder.Lock()
	defer t.reorder.Unlock()
	for {
		record := *t.record.Load()
		if !record.Reordering {
			return record, nil
		}
		if err := s.reorderDevices(ctx, t); err != nil {
			return andon.Tenant{}, err
		}
		_, err := s.changeTenant(ctx, func() (andon.Tenant, *engine.Batch, error) {
			now := *t.record.Load()
			switch {
			case t.gone:
				return andon.Tenant{}, nil, andon.NoTenant(id)
			case now.States != record.States:
				return now, nil, nil // it was changed once more
			}
			now.Reordering = false
			return s.writeTenant(t, now)
		})
		if err != nil {
			return andon.Tenant{}, err
		}
	}
}

// reorderAll continues what was interrupted when the store was closed.
func (s *Store) reorderAll(ctx context.Context) error {
	for _, t := range s.everyTenant() {
		if _, err := s.Reorder(ctx, t.record.Load().ID); err != nil {
			return err
		}
	}
	return nil
}

// reorderDevices computes the devices of a tenant again that there are now. Those that are made
// later follow the new set from their first entry on.
func (s *Store) reorderDevices(ctx context.Context, t *tenant) error {
	s.mu.RLock()
	end := t.fleet.Numbers()
	s.mu.RUnlock()
	for from := uint32(0); from < end; from += reorderStep {
		if err := s.reorderSome(ctx, t, from); err != nil {
			return err
		}
	}
	return nil
}

// reorderSome computes some devices again, by number from one on.
func (s *Store) reorderSome(ctx context.Context, t *tenant, from uint32) error {
	w, err := s.newWrite(ctx, t, 0, reorderStep, 1<<10)
	if err != nil {
		return err
	}
	w.kind = andon.ByReorder
	defer w.close()
	var ids []andon.DeviceID // from here on none is purged
	s.mu.RLock()
	for slot := range t.fleet.Slots(from, reorderStep) {
		ids = append(ids, t.fleet.ID(slot.Number()))
	}
	s.mu.RUnlock()
	w.fold = func(_ int, d *current.Device) error {
		return w.refoldFromLog(d, func(e andon.EntryRef) bool {
			return t.withdrawn.Contain(d.ID, e.Time, e.State)
		})
	}
	return w.run(ids)
}
