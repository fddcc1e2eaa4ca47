package pebblestore

import (
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
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
	d := shown.Show(t.states())
	r := newEventReader(ctx, s, t)
	defer r.close()
	return d, r.complete(&d)
}

// complete fills in what stays in the log with a device's newest entry; nothing, once that is gone.
func (r *eventReader) complete(d *andon.Device) error {
	e, err := r.entry(d.ID, d.Time, d.State)
	if andon.KindOf(err) == andon.NotFound {
		return nil
	}
	d.Message, d.Attributes = e.Message, e.Attributes
	return err
}

// listStep is how many devices a list looks at before it lets writers in.
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
		r := newEventReader(ctx, s, t)
		defer r.close()
		for some := range slices.Chunk(page.Devices, entriesStep) {
			if q.Kind == andon.ShownDevices && !q.Brief {
				if err := r.completeAll(some); err != nil {
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

// completeAll is complete for devices of a list.
func (r *eventReader) completeAll(devices []andon.Device) error {
	r.newest, r.wanted = r.newest[:0], r.wanted[:0]
	for i := range devices {
		d := &devices[i]
		r.newest = append(r.newest, andon.Event{Device: d.ID, Time: d.Time, State: d.State})
	}
	for i := range r.newest {
		r.wanted = append(r.wanted, wanted{event: &r.newest[i]})
	}
	if err := r.entries(r.wanted); err != nil {
		return err
	}
	for i := range devices {
		devices[i].Message, devices[i].Attributes = r.newest[i].Message, r.newest[i].Attributes
	}
	return nil
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
