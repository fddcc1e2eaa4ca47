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
	return ask(ctx, s, id, func(t *tenant) (andon.Device, error) { return t.shown(device) })
}

// shown returns what one device shows now; NotFound where it was never seen or is retired.
func (t *tenant) shown(id andon.DeviceID) (andon.Device, error) {
	if d, ok := t.devices[id]; ok {
		if shown := d.show(t.record.States); shown != nil {
			return *shown, nil
		}
	}
	return andon.Device{}, andon.NoDevice(id)
}

// Devices returns the devices that a query selects, in its order.
func (s *Store) Devices(
	ctx context.Context, id andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	return list(ctx, s, id, func(t *tenant) []andon.Device {
		var found []andon.Device
		for _, d := range t.devices {
			shown := d.list(t.record.States, &q)
			if shown != nil && q.Admits(shown) {
				found = append(found, *shown)
			}
		}
		slices.SortFunc(found, func(a, b andon.Device) int {
			return a.Position().Compare(b.Position(), q.Sort)
		})
		return firstOf(found, q.Limit)
	})
}

// list returns the device as a list of that kind shows it; nil where it is not in it.
func (d *device) list(states *andon.StateSet, q *andon.DeviceQuery) *andon.Device {
	shown := d.show(states)
	newest, retired := d.newestEntry(), d.retiredAt()
	fresh := newest == nil && retired == 0
	listed := &andon.Device{ID: d.id}
	switch q.Kind {
	case andon.RetiredDevices:
		if shown != nil || retired == 0 {
			return nil
		}
		listed.Retired, listed.LastRetired = retired, retired
		if newest != nil {
			listed.State, listed.Time = newest.State, newest.Time
			listed.Severity, listed.Received = states.Severity(newest.State), d.received
		}
	case andon.MeasuringDevices:
		latest := d.measured(andon.ReadingQuery{Span: andon.Span{From: q.MeasuredSince}})
		if !fresh || len(latest) == 0 {
			return nil
		}
		listed.Time = latest[0].Time
	case andon.AssignedDevices:
		if !fresh || len(d.assignments) == 0 {
			return nil
		}
		listed.Operator = d.operator(andon.Event{})
	case andon.AllDevices:
	default:
		return shown
	}
	return listed
}

// Names returns the names that occur, by bytes.
func (s *Store) Names(
	ctx context.Context, id andon.TenantID, q andon.NameQuery,
) iter.Seq2[andon.NameCount, error] {
	return list(ctx, s, id, func(t *tenant) []andon.NameCount {
		devices := map[string]int{}
		for _, d := range t.devices {
			for name, now := range d.names(t.record.States, q.Of) {
				devices[name] += now
			}
		}
		delete(devices, "")
		var found []andon.NameCount
		for _, name := range slices.Sorted(maps.Keys(devices)) {
			if name > q.After {
				found = append(found, andon.NameCount{Name: name, Devices: devices[name]})
			}
		}
		return firstOf(found, q.Limit)
	})
}

// names returns the names that occur with the device, each with 1 where it counts.
func (d *device) names(states *andon.StateSet, of andon.NameKind) map[string]int {
	names, now := map[string]int{}, ""
	shown := d.show(states)
	switch of {
	case andon.OperatorNames:
		for i := range d.entries {
			names[string(d.entries[i].Operator)] = 0
		}
		for i := range d.assignments {
			names[string(d.assignments[i].Operator)] = 0
		}
		if shown != nil {
			now = string(shown.Operator)
		}
	case andon.SupervisorNames:
		for i := range d.entries {
			for _, r := range d.entries[i].Escalations {
				names[string(r.To)] = 0
			}
		}
		if shown != nil {
			now = string(shown.EscalatedTo)
		}
	case andon.MetricNames:
		for name := range d.metrics {
			names[string(name)] = 1
		}
		return names
	}
	names[now] = 1
	return names
}

// Counts implements andon.Current.
func (s *Store) Counts(
	ctx context.Context, id andon.TenantID, silentBefore andon.Time,
) ([]andon.StateCount, error) {
	return ask(ctx, s, id, func(t *tenant) ([]andon.StateCount, error) {
		in := map[andon.StateCount]andon.StateCount{} // by group and state
		for id, d := range t.devices {
			shown := d.show(t.record.States)
			if shown == nil {
				continue
			}
			of := andon.StateCount{Group: t.group(id), State: shown.State}
			n := in[of]
			n.Group, n.State, n.Count = of.Group, of.State, n.Count+1
			if shown.Received < silentBefore {
				n.Silent++
			}
			in[of] = n
		}
		return slices.Collect(maps.Values(in)), nil
	})
}

// Regroup implements andon.Current. Each count asks for the number of each device.
func (s *Store) Regroup(
	ctx context.Context, id andon.TenantID, of func(andon.DeviceID) uint32, _ []andon.DeviceID,
) error {
	return s.within(ctx, id, func(t *tenant) error {
		t.group = of
		return nil
	})
}

// Retire takes a device out of counts and lists.
func (s *Store) Retire(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, at andon.Time,
) (andon.Time, error) {
	err := s.write(ctx, id, andon.ByRetirement, func(t *tenant) error {
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
	return ask(ctx, s, id, func(t *tenant) (all []andon.Time, err error) {
		for _, d := range t.known(device) {
			all = slices.Clone(d.retired)
		}
		return all, nil
	})
}
