// Package groups knows what people say of devices: their profiles, and the rules that put devices
// into groups. It keeps both as records of a store, and in memory, decides which group a device is
// in, and selects and counts devices by group, label and place. It knows no engine and no HTTP.
//
// The profiles of a tenant are in 4,096 records, its buckets: each has the devices whose ids have
// its hash. One record more, its head, has the rules, and says which buckets changed last. A
// process reads the head at most once a second, and then the buckets that changed. What it changes
// itself it knows at once.
//
// A store counts devices by number (andon.Current). The number of a group is its place in the tree
// that a process has of a tenant.
package groups

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/recent"
)

// Groups has the groups of all tenants. All methods may be called concurrently.
type Groups struct {
	store andon.Store
	known recent.Values[*tenant]
}

// New makes Groups of the devices of a store.
func New(store andon.Store, now func() andon.Time) *Groups {
	return &Groups{store: store, known: recent.Values[*tenant]{Now: now}}
}

// tenant is what is known of the devices of one tenant.
type tenant struct {
	id andon.TenantID
	// ruled counts the rules that were known. The store counts by those with the number listed, as
	// far as one who holds listing had it do so.
	ruled, listed atomic.Uint64
	listing       sync.Mutex

	writing sync.Mutex // held while the rest is read from records or changed
	version uint64     // of the head; 0: there is none, and no profile
	head    head

	mu      sync.RWMutex // guards the rest; the store is not called under it
	tree    tree
	rules   rules
	buckets [buckets]map[andon.DeviceID]device
	// children are the devices that name another one as their parent, by that.
	children map[andon.DeviceID]map[andon.DeviceID]bool
	changes  atomic.Uint64 // of profiles and rules
}

// device is what is known of one that has a profile.
type device struct {
	own  uint32 // the number of its own group
	in   uint32 // that of the group that it is in, also by a rule
	more *said  // nil: nothing but its own group
}

// current returns what is known of a tenant, which is at most a second old.
func (g *Groups) current(ctx context.Context, id andon.TenantID) (*tenant, error) {
	if !g.store.Capabilities().Whole {
		return nil, andon.Errorf(andon.Unsupported, "this store has no place for groups, names, "+
			"labels and locations of devices")
	}
	is, err := g.store.Tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	t, err := g.known.Get(ctx, id, is.Version, g.read(is.ID))
	if err == nil && t.ruled.Load() != t.listed.Load() && t.listing.TryLock() {
		err = g.relist(ctx, t) // nobody else has to wait for it
	}
	return t, err
}

func (g *Groups) read(id andon.TenantID) func(context.Context, *tenant) (*tenant, error) {
	return func(ctx context.Context, t *tenant) (*tenant, error) {
		if t == nil {
			t = &tenant{
				id: id, tree: newTree(), children: map[andon.DeviceID]map[andon.DeviceID]bool{},
			}
		}
		// Whoever holds it has read what others changed. An append waits for no change of profiles.
		if !t.writing.TryLock() {
			return t, nil
		}
		defer t.writing.Unlock()
		return t, g.refresh(ctx, t)
	}
}

// change calls do with a tenant as it is now, while nobody else in this process changes it.
func (g *Groups) change(ctx context.Context, id andon.TenantID, do func(*tenant) error) error {
	t, err := g.current(ctx, id)
	if err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	if err = g.refresh(ctx, t); err == nil {
		err = do(t)
	}
	return err
}

// Change changes profiles. The devices need not have been seen.
func (g *Groups) Change(
	ctx context.Context, id andon.TenantID, all []andon.ProfileChange,
) error {
	changes := make([]change, len(all))
	for i := range all {
		changes[i] = change{all[i].Device, func(s *said) { all[i].Apply(&s.Profile) }}
	}
	return g.change(ctx, id, func(t *tenant) error { return g.write(ctx, t, changes) })
}

// Forget removes what is said of a device, which is retired or purged, and reports whether there
// was anything.
func (g *Groups) Forget(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (forgot bool, err error) {
	if !g.store.Capabilities().Whole {
		return false, nil
	}
	err = g.change(ctx, id, func(t *tenant) error {
		if d := t.device(device); d.own == 0 && d.more == nil {
			return nil
		}
		forgot = true
		return g.write(ctx, t, []change{{device, func(s *said) { *s = said{} }}})
	})
	return forgot, err
}

// device returns what is known of a device, also where it has no profile. The caller holds mu or
// writing.
func (t *tenant) device(id andon.DeviceID) device {
	d, known := t.buckets[bucketOf(id)][id]
	if !known {
		d.in = t.rules.group(id, nil)
	}
	return d
}

// profile returns what is said of a device, with a group. The caller holds mu.
func (t *tenant) profile(d *device, group uint32) (p andon.Profile) {
	if d.more != nil {
		p = d.more.Profile
	}
	p.Group = t.tree.groups[group].path
	return p
}

// Own returns what is said of a device, with its own group.
func (g *Groups) Own(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (is andon.DeviceProfile, err error) {
	t, err := g.current(ctx, id)
	if err != nil {
		return is, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	d := t.device(device)
	return andon.DeviceProfile{Device: device, Profile: t.profile(&d, d.own)}, nil
}

// Profiles returns up to limit profiles, with the own groups of the devices, after that of a
// device. Their order is that of the buckets.
func (g *Groups) Profiles(
	ctx context.Context, id andon.TenantID, after andon.DeviceID, limit int,
) (all []andon.DeviceProfile, err error) {
	t, err := g.current(ctx, id)
	if err != nil {
		return nil, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	number := 0
	if after != "" {
		number = bucketOf(after)
	}
	for ; number < buckets && len(all) < limit; number++ {
		for _, id := range slices.Sorted(maps.Keys(t.buckets[number])) {
			d := t.buckets[number][id]
			p := t.profile(&d, d.own)
			if id > after && !p.Empty() {
				all = append(all, andon.DeviceProfile{Device: id, Profile: p})
			}
		}
		after = "" // the next bucket begins anew
	}
	return all[:min(len(all), limit)], nil
}

// number is that of the group that a device is in. It is given to the store.
func (t *tenant) number(id andon.DeviceID) uint32 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.device(id).in
}

// replace makes a bucket hold what its record says, and returns the devices that it had or has.
func (t *tenant) replace(number int, is bucket) (touched []andon.DeviceID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, d := range t.buckets[number] {
		delete(t.tree.groups[d.in].members, id)
		touched = append(touched, id)
		t.belongs(id, d.more, false)
	}
	now := make(map[andon.DeviceID]device, len(is))
	for id, s := range is {
		d := device{own: t.tree.number(s.Group)}
		if s.Group = ""; !s.empty() {
			d.more = s
		}
		now[id] = t.place(id, d)
		touched = append(touched, id)
		t.belongs(id, d.more, true)
	}
	t.buckets[number] = now
	t.changes.Add(1)
	return touched
}

// belongs takes note of whether a device belongs to the one that its profile names.
func (t *tenant) belongs(id andon.DeviceID, s *said, is bool) {
	switch of := t.children; {
	case s == nil || s.Parent == "":
	case !is:
		if delete(of[s.Parent], id); len(of[s.Parent]) == 0 {
			delete(of, s.Parent)
		}
	case of[s.Parent] == nil:
		of[s.Parent] = map[andon.DeviceID]bool{id: true}
	default:
		of[s.Parent][id] = true
	}
}

func (t *tenant) place(id andon.DeviceID, d device) device {
	if d.in = d.own; d.in == 0 {
		d.in = t.rules.group(id, d.facts())
	}
	t.tree.groups[d.in].members[id] = struct{}{}
	return d
}

// setRules makes rules those that count, and puts each device with a profile where they say.
func (t *tenant) setRules(all []andon.GroupRule) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules = t.tree.newRules(all)
	t.ruled.Add(1)
	for _, devices := range t.buckets {
		for id, d := range devices {
			delete(t.tree.groups[d.in].members, id)
			devices[id] = t.place(id, d)
		}
	}
	t.changes.Add(1)
}

func (d *device) facts() map[string]string {
	if d.more == nil {
		return nil
	}
	return d.more.Facts
}
