package groups

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// Selection selects devices by what is known of them. The zero value selects all.
type Selection struct {
	Group  andon.Group       // that group and all below; NoGroup: devices in none; absent: any
	Labels map[string]string // all of them
	Near   *andon.Location   // with a location of their own that is near this one; nil: any
	Within float64           // metres
}

// SelectsAll reports whether all devices are selected.
func (s *Selection) SelectsAll() bool { return s.Group == "" && s.byGroup() }

// byGroup reports whether nothing but the group matters, so that counts are kept.
func (s *Selection) byGroup() bool { return len(s.Labels) == 0 && s.Near == nil }

// Selected are the devices of a tenant that are selected at any time. A nil one selects all, and
// knows nothing.
type Selected struct {
	Selection
	g *Groups
	t *tenant
}

// Select returns the devices that a selection is of; nil: all, of a store that has no place for
// what is said of devices.
func (g *Groups) Select(
	ctx context.Context, id andon.TenantID, s Selection,
) (*Selected, error) {
	if s.SelectsAll() && !g.store.Capabilities().Whole {
		return nil, nil
	}
	t, err := g.current(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Selected{s, g, t}, nil
}

func (s *Selected) selectsAll() bool { return s == nil || s.SelectsAll() }

// Contains reports whether a device is selected now.
func (s *Selected) Contains(id andon.DeviceID) bool {
	if s.selectsAll() {
		return true
	}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	d := s.t.device(id)
	return s.containsLocked(&d)
}

// Profile returns what is said of a device, with the group that it is in.
func (s *Selected) Profile(id andon.DeviceID) andon.Profile {
	if s == nil {
		return andon.Profile{}
	}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	d := s.t.device(id)
	return s.t.profile(&d, d.in)
}

// Children returns the devices whose parent is one, in no order, whether they were seen or not.
func (s *Selected) Children(of andon.DeviceID) []andon.DeviceID {
	if s == nil {
		return nil
	}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	return slices.Collect(maps.Keys(s.t.children[of]))
}

// Groups returns the groups by which people are told of a device: the one that it is in, or, of a
// gateway in none, those of the devices that belong to it. Absent is no group.
func (s *Selected) Groups(id andon.DeviceID) (all []andon.Group) {
	if s == nil {
		return nil
	}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	for _, n := range s.t.told(id) {
		all = append(all, s.t.tree.groups[n].path)
	}
	return all
}

// Concerns reports whether an incident of a device is selected now: as Contains, or by any group
// that Groups returns.
func (s *Selected) Concerns(id andon.DeviceID) bool {
	if s.selectsAll() {
		return true
	}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	d := s.t.device(id)
	return s.containsLocked(&d) || slices.ContainsFunc(s.t.told(id), func(in uint32) bool {
		d.in = in
		return s.containsLocked(&d)
	})
}

// told returns the numbers of the groups by which people are told of a device. The caller holds mu.
func (t *tenant) told(id andon.DeviceID) (all []uint32) {
	behind, seen := []andon.DeviceID{id}, map[andon.DeviceID]bool{id: true} // may be in a circle
	for i := 0; i < len(behind); i++ {
		in, children := t.device(behind[i]).in, t.children[behind[i]]
		if in != 0 || len(children) == 0 {
			if !slices.Contains(all, in) {
				all = append(all, in)
			}
			continue
		}
		for child := range children {
			if !seen[child] {
				seen[child], behind = true, append(behind, child)
			}
		}
	}
	return all
}

// containsLocked reports whether a device is selected. The caller holds mu.
func (s *Selected) containsLocked(d *device) bool {
	switch {
	case !s.within(d.in):
		return false
	case s.byGroup():
		return true
	case d.more == nil:
		return false
	case s.Near != nil && (d.more.Location == nil ||
		d.more.Location.Metres(*s.Near) > s.Within):
		return false
	}
	for name, value := range s.Labels {
		if is, there := d.more.Labels[name]; !there || is != value {
			return false
		}
	}
	return true
}

// within reports whether the selected group is one or contains it. The caller holds mu.
func (s *Selected) within(number uint32) bool {
	switch s.Group {
	case "":
		return true
	case andon.NoGroup:
		return number == 0
	}
	of, known := s.t.tree.numbers[s.Group]
	return known && s.t.tree.within(number, of)
}

// Changes returns a number that changes with what is known of devices, so that others may be
// selected. It takes in what other processes changed.
func (s *Selected) Changes(ctx context.Context) (uint64, error) {
	t, err := s.g.current(ctx, s.t.id)
	if err != nil {
		return 0, err
	}
	return t.changes.Load(), nil
}

// few is how many devices are rather read one by one than looked for among all.
const few = 1000

// Devices is that of the store, of the devices that are selected.
func (g *Groups) Devices(
	ctx context.Context, id andon.TenantID, q andon.DeviceQuery, s *Selected,
) iter.Seq2[andon.Device, error] {
	if s.selectsAll() {
		return g.store.Devices(ctx, id, q)
	}
	if q.Only = s.Contains; q.Kind == andon.ShownDevices && q.Sort == andon.ByDevice {
		if ids, complete := s.members(&q); complete {
			return g.oneByOne(ctx, s.t, q, ids)
		}
	}
	return g.store.Devices(ctx, id, q)
}

// members returns the devices that are selected and may be on a page, in order. They are complete
// where they are few, and each device that may be selected has a profile.
func (s *Selected) members(q *andon.DeviceQuery) (ids []andon.DeviceID, complete bool) {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	for n := range s.t.tree.groups {
		in := &s.t.tree.groups[n]
		if !s.within(uint32(n)) {
			continue
		}
		if s.byGroup() && in.byPrefix {
			return nil, false
		}
		for id := range in.members {
			if q.After != nil && id <= q.After.Device {
				continue
			}
			if d := s.t.device(id); s.containsLocked(&d) {
				ids = append(ids, id)
			}
			if len(ids) > few {
				return nil, false
			}
		}
	}
	slices.Sort(ids)
	return ids, true
}

// oneByOne reads devices until the page of a query is full.
func (g *Groups) oneByOne(
	ctx context.Context, t *tenant, q andon.DeviceQuery, ids []andon.DeviceID,
) iter.Seq2[andon.Device, error] {
	return seq.Of(func(yield func(andon.Device) bool) error {
		yield = seq.UpTo(q.Limit, yield)
		for some := range slices.Chunk(ids, min(max(q.Limit, 16), 256)) {
			shown, err := g.shown(ctx, t, some)
			if err != nil {
				return err
			}
			for i := range shown {
				if d := &shown[i]; d.ID != "" && q.Admits(d) && !yield(*d) {
					return nil
				}
			}
		}
		return nil
	})
}
