package memstore

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/andonhq/andon"
)

// Device returns what one device shows now.
func (s *Store) Device(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (andon.Device, error) {
	var shown andon.Device
	err := s.within(ctx, id, func(t *tenant) error {
		d, err := t.shown(device)
		if err == nil {
			shown = *d
		}
		return err
	})
	return shown, err
}

// shown returns what one device shows now; NotFound where it was never seen or is retired.
func (t *tenant) shown(id andon.DeviceID) (*andon.Device, error) {
	if d, ok := t.devices[id]; ok {
		if shown := d.show(t.record.States); shown != nil {
			return shown, nil
		}
	}
	return nil, andon.Errorf(andon.NotFound, "device %q was never seen or is retired", id)
}

// Devices returns the devices that a query selects, in its order.
func (s *Store) Devices(
	ctx context.Context, id andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	return list(ctx, s, id, func(t *tenant) []andon.Device {
		var found []andon.Device
		for _, d := range t.devices {
			if shown := d.show(t.record.States); shown != nil && q.Admits(shown) {
				found = append(found, *shown)
			}
		}
		slices.SortFunc(found, func(a, b andon.Device) int {
			if a.Position().Less(b.Position(), q.Sort) {
				return -1
			}
			return 1 // no two devices share an id
		})
		return firstOf(found, q.Limit)
	})
}

// Counts returns how many devices are in each state, and how many of those are silent.
func (s *Store) Counts(
	ctx context.Context, id andon.TenantID, silentBefore andon.Time,
) ([]andon.StateCount, error) {
	var counts []andon.StateCount
	err := s.within(ctx, id, func(t *tenant) error {
		in := map[andon.State]andon.StateCount{}
		for _, d := range t.devices {
			shown := d.show(t.record.States)
			if shown == nil {
				continue
			}
			n := in[shown.State]
			n.State = shown.State
			n.Count++
			if shown.Received < silentBefore {
				n.Silent++
			}
			in[n.State] = n
		}
		counts = slices.Collect(maps.Values(in))
		return nil
	})
	return counts, err
}

// Retire takes a device out of counts and lists.
func (s *Store) Retire(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, at andon.Time,
) (andon.Time, error) {
	err := s.within(ctx, id, func(t *tenant) error {
		if _, err := t.shown(device); err != nil {
			return err
		}
		d := t.devices[device]
		at = max(at, d.newestTime()+1)
		d.retired = append(d.retired, at)
		d.changed()
		return nil
	})
	if err != nil {
		return 0, err
	}
	return at, nil
}

// Retirements returns when a device was retired.
func (s *Store) Retirements(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) ([]andon.Time, error) {
	var all []andon.Time
	err := s.within(ctx, id, func(t *tenant) error {
		for _, d := range t.known(device) {
			all = slices.Clone(d.retired)
		}
		return nil
	})
	return all, err
}
