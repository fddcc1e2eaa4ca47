package memstore

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/feed"
)

// following is the feed of a tenant: its entries from the start, its changes from when someone asks
// for the feed first, since they cost a look at all of a device for each entry.
type following struct {
	*feed.Log
	since uint64 // the sequence from which on there are changes
	// shown is by each device before the write under way; nil before since.
	shown map[andon.DeviceID]*andon.Device
	by    map[andon.DeviceID]cause // in the write under way
	came  []andon.Event            // in the write under way
}

// cause is the last entry of a write that made a difference, and what the device showed after the
// newest that was looked at.
type cause struct {
	entry andon.EntryRef
	shown *andon.Device
}

// write is within for what changes something: it has the feed note what came of it.
func (s *Store) write(
	ctx context.Context, id andon.TenantID, kind andon.ChangeKind, do func(*tenant) error,
) error {
	ring := func() {}
	err := s.within(ctx, id, func(t *tenant) error {
		err := do(t)
		ring = t.publish(kind)
		return err
	})
	ring()
	return err
}

// note looks at a device after an entry.
func (f *following) note(d *device, e *andon.Event) {
	if f.shown == nil {
		return
	}
	c, again := f.by[d.id]
	if !again {
		c.shown = f.shown[d.id]
	}
	is := d.show(d.tenant.record.States)
	if !andon.ShowAlike(c.shown, is) {
		c.entry = andon.EntryRef{Time: e.Time, State: e.State}
	}
	c.shown = is
	f.by[d.id] = c
}

// publish puts into the feed what a write brought, and returns what wakes those who wait.
func (t *tenant) publish(kind andon.ChangeKind) (ring func()) {
	f := t.feed
	var changes []andon.Change
	if f.shown != nil {
		changes = t.changes(kind)
	}
	clear(t.touched)
	clear(f.by)
	f.inOrder(t.record.States)
	next := f.Add(changes, f.came)
	f.came = nil
	if len(changes) == 0 {
		return func() {}
	}
	return func() { f.Notify(next) }
}

// changes returns how the devices that were touched show since.
func (t *tenant) changes(kind andon.ChangeKind) (changes []andon.Change) {
	if kind == andon.OfTenant {
		changes = append(changes, andon.Change{Kind: kind, Tenant: new(t.record)})
		kind = andon.ByReorder
	}
	f := t.feed
	for _, id := range slices.Sorted(maps.Keys(t.touched)) {
		c := andon.Change{Kind: kind, Device: id, Before: f.shown[id], Entry: f.by[id].entry}
		for _, d := range t.known(id) {
			c.After = d.show(t.record.States)
		}
		f.shown[id] = c.After
		if !andon.ShowAlike(c.Before, c.After) {
			c.Before, c.After = forFeed(c.Before), forFeed(c.After)
			changes = append(changes, c)
		}
	}
	return changes
}

// forFeed returns a device as the feed has it.
func forFeed(d *andon.Device) *andon.Device {
	if d == nil {
		return nil
	}
	clone := *d
	clone.Message, clone.Attributes = "", ""
	return &clone
}

// follow returns the feed of a tenant, and begins its changes where no one asked before.
func (s *Store) follow(ctx context.Context, id andon.TenantID) (f *following, err error) {
	err = s.within(ctx, id, func(t *tenant) error {
		if t.feed.shown == nil {
			_, newest := t.feed.Kept()
			t.feed.since, t.feed.shown = newest.Sequence, map[andon.DeviceID]*andon.Device{}
			for _, d := range t.devices {
				t.feed.shown[d.id] = d.show(t.record.States)
			}
		}
		f = t.feed
		return nil
	})
	return f, err
}

// Changes yields the changes of a tenant after a position.
func (s *Store) Changes(
	ctx context.Context, id andon.TenantID, after andon.Position,
) iter.Seq2[andon.Change, error] {
	return func(yield func(andon.Change, error) bool) {
		f, err := s.follow(ctx, id)
		if err != nil {
			yield(andon.Change{}, err)
			return
		}
		if after.Sequence < f.since {
			yield(andon.Change{}, feed.Gone())
			return
		}
		f.Changes(ctx, after)(yield)
	}
}

// AwaitChange waits for a change of a tenant.
func (s *Store) AwaitChange(
	ctx context.Context, id andon.TenantID, after andon.Position,
) error {
	f, err := s.follow(ctx, id)
	if err == nil {
		err = f.Await(ctx, after)
	}
	if err == nil {
		_, err = s.Tenant(ctx, id) // it may be gone meanwhile
	}
	return err
}

// ChangesKept returns from where to where the feed of a tenant is kept.
func (s *Store) ChangesKept(
	ctx context.Context, id andon.TenantID,
) (oldest, newest andon.Position, err error) {
	f, err := s.follow(ctx, id)
	if err != nil {
		return oldest, newest, err
	}
	oldest, newest = f.Kept()
	oldest.Sequence = max(oldest.Sequence, f.since)
	return oldest, newest, nil
}
