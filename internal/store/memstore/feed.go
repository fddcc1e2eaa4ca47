package memstore

import (
	"context"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/feed"
	"github.com/andonhq/andon/internal/seq"
)

// following is the feed of a tenant, and its entries in the order of their arrival. It ends with
// the process.
type following struct {
	feed.Wakeup
	id     uint64
	writes []wrote // one for each sequence

	shown map[andon.DeviceID]*andon.Device // by each device before the write under way
	by    map[andon.DeviceID]cause         // in the write under way
	came  []andon.Event                    // in the write under way
}

type wrote struct {
	changes []andon.Change
	entries []andon.Event // those of a device that was purged have no device
}

// cause is the last entry of a write that made a difference, and what the device showed after the
// newest that was looked at.
type cause struct {
	entry andon.EntryRef
	shown *andon.Device
}

func newFollowing() *following {
	return &following{
		id: rand.Uint64(), shown: map[andon.DeviceID]*andon.Device{},
		by: map[andon.DeviceID]cause{},
	}
}

// write is within for what changes something: it has the feed note what came of it.
func (s *Store) write(
	ctx context.Context, id andon.TenantID, kind andon.ChangeKind, do func(*tenant) error,
) error {
	return s.within(ctx, id, func(t *tenant) error {
		defer t.publish(kind)
		return do(t)
	})
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

func (t *tenant) publish(kind andon.ChangeKind) {
	f, w := t.feed, wrote{t.changes(kind), t.feed.came}
	clear(t.touched)
	clear(f.by)
	f.came = nil
	if len(w.changes)+len(w.entries) == 0 {
		return
	}
	slices.SortStableFunc(w.entries, func(a, b andon.Event) int {
		if a.Device != b.Device {
			return andon.CompareInBatch(&a, &b)
		}
		return a.Key(t.record.States).Compare(b.Key(t.record.States))
	})
	at := f.end()
	next := at.Sequence + 1
	for i := range w.changes {
		if at.Index++; i == len(w.changes)-1 {
			at = f.position(next)
		}
		w.changes[i].Position = at
	}
	f.writes = append(f.writes, w)
	if len(w.changes) > 0 {
		f.Notify(next)
	}
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

func forFeed(d *andon.Device) *andon.Device {
	if d == nil {
		return nil
	}
	clone := *d
	clone.Message, clone.Attributes = "", ""
	return &clone
}

func (f *following) forget(device andon.DeviceID) {
	for _, w := range f.writes {
		for i := range w.entries {
			if w.entries[i].Device == device {
				w.entries[i] = andon.Event{}
			}
		}
	}
}

func (f *following) position(sequence uint64) andon.Position {
	return andon.Position{Feed: f.id, Sequence: sequence}
}

func (f *following) end() andon.Position { return f.position(uint64(len(f.writes))) }

// since returns the writes after a position, the one that it is in among them; false: it is of
// another feed.
func (f *following) since(after andon.Position) ([]wrote, bool) {
	if after.Feed != f.id || after.Sequence > uint64(len(f.writes)) {
		return nil, false
	}
	return f.writes[after.Sequence:], true
}

// Changes yields the changes of a tenant after a position.
func (s *Store) Changes(
	ctx context.Context, id andon.TenantID, after andon.Position,
) iter.Seq2[andon.Change, error] {
	after = after.OfChanges()
	return seq.List(func() (changes []andon.Change, err error) {
		err = s.within(ctx, id, func(t *tenant) error {
			writes, ok := t.feed.since(after)
			if !ok {
				return feed.Gone()
			}
			for _, w := range writes {
				changes = append(changes, w.changes...)
			}
			if len(writes) > 0 {
				changes = changes[min(int(after.Index), len(writes[0].changes)):]
			}
			return nil
		})
		return changes, err
	})
}

// AwaitChange waits for a change of a tenant.
func (s *Store) AwaitChange(
	ctx context.Context, id andon.TenantID, after andon.Position,
) error {
	var f *following
	err := s.within(ctx, id, func(t *tenant) error {
		f = t.feed
		if _, ok := f.since(after); !ok {
			return feed.Gone()
		}
		return nil
	})
	if err == nil {
		err = f.Wait(ctx, after.Sequence)
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
	err = s.within(ctx, id, func(t *tenant) error {
		oldest, newest = t.feed.position(0), t.feed.end()
		return nil
	})
	return oldest, newest, err
}

// Arrivals returns entries in the order of their arrival.
func (s *Store) Arrivals(
	ctx context.Context, id andon.TenantID, q andon.ArrivalQuery,
) (part andon.Arrived, err error) {
	err = s.within(ctx, id, func(t *tenant) error {
		after := t.feed.position(0)
		if q.After != nil {
			after = *q.After
		}
		writes, ok := t.feed.since(after)
		if !ok {
			return feed.GoneEntries(t.feed.position(0))
		}
		part.Next = t.feed.position(after.Sequence)
		for i, w := range writes {
			skip := 0
			if i == 0 {
				skip = after.Entries()
			}
			if t.arrived(&part, &q, w.entries, skip); part.More {
				return nil
			}
		}
		return nil
	})
	return part, err
}

// arrived adds the entries of a write to a part, but for the first few, and moves past the write.
func (t *tenant) arrived(
	part *andon.Arrived, q *andon.ArrivalQuery, entries []andon.Event, skip int,
) {
	at := part.Next
	part.Next.Sequence++
	for i := skip; i < len(entries); i++ {
		a := andon.Arrival{Event: entries[i], Position: at.AfterEntry(i + 1)}
		_, e, err := t.entry(a.Device, a.Time, a.State)
		if err != nil || e.Withdrawn != nil || !q.Admits(a.Time, a.State) {
			continue
		}
		if len(part.Items) == q.Limit {
			part.Next, part.More = part.Items[q.Limit-1].Position, true
			return
		}
		if i+1 == len(entries) {
			a.Position = part.Next
		}
		a.EscalatedTo = e.CurrentEscalation().To
		part.Items = append(part.Items, a)
	}
}
