package pebblestore

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
)

// Device implements andon.Current.
func (s *Store) Device(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (andon.Device, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return andon.Device{}, err
	}
	s.mu.RLock()
	var shown current.Device
	if slot := t.fleet.Slot(device); slot != nil {
		shown = t.fleet.Shown(slot)
	}
	s.mu.RUnlock()
	if !shown.Alive() {
		return andon.Device{}, andon.NoDevice(device)
	}
	explainMemory(andon.PlanOf(ctx), 1, 1, engine.SinceStart())
	r := s.reader(ctx, t)
	defer r.Close()
	one := []andon.Device{shown.Show(t.states())}
	err = r.Complete(one)
	return one[0], err
}

// listStep is how many devices a list visits before writers get the lock.
const listStep = 4096

// Devices implements andon.Current.
func (s *Store) Devices(
	ctx context.Context, id andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Device) bool) error {
		if q.Kind == andon.MeasuringDevices {
			return s.measuring(ctx, t, q, yield)
		}
		begun, page := engine.SinceStart(), current.NewPage(q)
		for !page.Done {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.mu.RLock()
			t.fleet.Read(page, t.states(), listStep)
			s.mu.RUnlock()
		}
		explainMemory(andon.PlanOf(ctx), page.Looked, len(page.Devices), begun)
		if q.Kind == andon.AllDevices {
			return s.withMeasured(ctx, t, &q, page.Devices, yield)
		}
		r := s.reader(ctx, t)
		defer r.Close()
		for some := range slices.Chunk(page.Devices, entries.Step) {
			if q.Kind == andon.ShownDevices && !q.Brief {
				if err := r.Complete(some); err != nil {
					return err
				}
			}
			for i := range some {
				if !yield(some[i]) {
					return nil
				}
			}
		}
		return nil
	})
}

// Counts implements andon.Current.
func (s *Store) Counts(
	ctx context.Context, id andon.TenantID, silentBefore andon.Time,
) ([]andon.StateCount, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	return t.fleet.Counts(silentBefore, s.mu.RLocker()), nil
}

// Regroup implements andon.Current.
func (s *Store) Regroup(
	ctx context.Context, id andon.TenantID,
	of func(andon.DeviceID) uint32, devices []andon.DeviceID,
) error {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.fleet.Regroup(of, devices)
	return nil
}

// explainMemory adds to a plan what was read of current states, which are in memory.
func explainMemory(p *andon.Plan, scanned, rows int, begun time.Duration) {
	p.Add(andon.PlanStep{
		Statement: "memory: what devices show", Scanned: scanned, Rows: rows,
		Took: andon.Took(engine.SinceStart() - begun),
	})
}
