package memstore

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/feed"
	"github.com/andonhq/andon/internal/seq"
)

// following is the feed of a tenant.
type following struct {
	*feed.Log
	shown map[andon.DeviceID]*andon.Device // by each device before the write under way
	by    map[andon.DeviceID]cause         // in the write under way
	came  []andon.Event                    // in the write under way
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
	f, changes := t.feed, t.changes(kind)
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

// follow returns the feed of a tenant.
func (s *Store) follow(ctx context.Context, id andon.TenantID) (f *following, err error) {
	err = s.within(ctx, id, func(t *tenant) error {
		f = t.feed
		return nil
	})
	return f, err
}

// Changes yields the changes of a tenant after a position.
func (s *Store) Changes(
	ctx context.Context, id andon.TenantID, after andon.Position,
) iter.Seq2[andon.Change, error] {
	return seq.After(func() (*following, error) { return s.follow(ctx, id) },
		func(f *following) iter.Seq2[andon.Change, error] { return f.Changes(ctx, after) })
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
	if err == nil {
		oldest, newest = f.Kept()
	}
	return oldest, newest, err
}
