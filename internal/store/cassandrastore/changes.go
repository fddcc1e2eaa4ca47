package cassandrastore

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
	"github.com/andonhq/andon/internal/store/shared/changelog"
)

// What a device shows merges from writes of several processes, so no write knows what it changes.
// The feed follows from reads: after a write that may change what a device shows, its process
// compares that with what the feed said of the device last, and appends the difference (inFeed).
//
// The changes of a device are numbered. A process that appends number n+1 has read the device after
// it had read number n, and the log takes each number once. So the feed has the states of a device
// in the order in which they were read, Before of a change is After of the one before, and after an
// acknowledged write the feed has said all that the write has changed.
//
// The write marks the device as pending, before or with the first row from which a reader can learn
// of it. A reader that meets the mark, of a process that is slower or has ended, brings the feed up
// to date before it shows the device; one that has read the log looks for a mark again after that.
// While the write may still be in progress its mark stays, for what it has yet to write. What
// landed even later is found by the review.

// pending returns the mark of a write that may change what devices show; nil where there is no
// feed.
func (s *Store) pending(
	ctx context.Context, t *rows.Tenant, kind andon.ChangeKind, stamp int64,
) (*rows.Pending, error) {
	if !s.feeds {
		return nil, nil
	}
	from, err := s.Logs.ForTenant(t.Tenant).Next(ctx)
	return &rows.Pending{From: from, Kind: kind, Stamp: stamp}, err
}

// markedFirst is pending for a write to one device, which it marks: readers see what is written
// next before the rest of the device.
func (s *Store) markedFirst(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, kind andon.ChangeKind, stamp int64,
) (*rows.Pending, error) {
	cause, err := s.pending(ctx, t, kind, stamp)
	if err == nil && cause != nil {
		err = s.db.Write(ctx, cause.Set(t.Key, device))
	}
	return cause, err
}

// versionsOfKey is how many changes a device may have before it is purged: the changes of its next
// key have greater versions.
const versionsOfKey = 1 << 40

// inFeed has the feed say what devices show, in their order. What differs is one item of the feed
// unless another process is faster; after that it waits a moment, at random, so that each has its
// turn.
func (s *Store) inFeed(ctx context.Context, t *rows.Tenant, all ...*comparison) error {
	log := s.Logs.ForTenant(t.Tenant)
	each := func(do func(*comparison, context.Context) error) error {
		return shared.Parallel(ctx, len(all), func(ctx context.Context, i int) error {
			return do(all[i], ctx)
		})
	}
	const most = 100
	for tries := range most {
		if err := each((*comparison).compare); err != nil {
			return err
		}
		var changes []changelog.Change
		for _, c := range all {
			if c.differs {
				changes = append(changes, c.change())
			}
		}
		if err := log.Append(ctx, changes...); err != nil {
			return err
		}
		if err := each((*comparison).end); err != nil {
			return err
		}
		done := func(c *comparison) bool { return c.done }
		if all = slices.DeleteFunc(slices.Clone(all), done); len(all) == 0 {
			return nil
		}
		if err := sleep.For(ctx, rand.N(time.Duration(tries+1)*time.Millisecond)); err != nil {
			return err
		}
	}
	return andon.Errorf(andon.Busy, "device %q changes all the time: send it again",
		rows.IDOf(all[0].device))
}

// comparison is of what a device shows with what the feed said of it last.
type comparison struct {
	store  *Store
	tenant *rows.Tenant
	device andon.DeviceID // its key
	cause  *rows.Pending  // why it may show something else
	other  bool           // the write is not that of the caller, and may be in progress
	known  *view          // if no other process can have written to it; nil: it is read

	said    rows.Logged
	stored  int64         // number of the change that is stored as said
	marked  *rows.Pending // that was found with the device
	shows   *andon.Device
	after   *andon.Device // that, as a change has it
	differs bool
	done    bool
}

// comparison returns one that is to be made. It copies names: those of a request are a part of its
// body, and the feed keeps them.
func (s *Store) comparison(
	t *rows.Tenant, device andon.DeviceID, cause *rows.Pending,
) *comparison {
	is := *cause
	is.Entry.State = andon.State(strings.Clone(string(is.Entry.State)))
	return &comparison{
		store: s, tenant: t, device: andon.DeviceID(strings.Clone(string(device))), cause: &is,
	}
}

// compare reads what the feed said, and after that what the device shows.
func (c *comparison) compare(ctx context.Context) error {
	newest, there, err := c.newest(ctx)
	if err == nil {
		err = c.read(ctx)
	}
	if err != nil {
		return err
	}
	if c.marked != nil && c.marked.From < c.cause.From { // its change may be in an item before
		c.cause.From = c.marked.From
		return c.compare(ctx)
	}
	if there && newest.Version > c.said.Version {
		c.said = rows.Logged{Version: newest.Version, Shown: newest.After}
	}
	if c.after = nil; c.shows != nil {
		is := *c.shows
		is.ID, is.Message, is.Attributes = rows.IDOf(c.device), "", ""
		c.after = &is
	}
	// A device that was purged and has another key has greater numbers.
	c.differs = c.said.Version < c.base()+versionsOfKey && !andon.ShowAlike(c.said.Shown, c.after)
	return nil
}

// newest returns the newest change of the device in the feed, unless that is stored.
func (c *comparison) newest(ctx context.Context) (changelog.Change, bool, error) {
	log := c.store.Logs.ForTenant(c.tenant.Tenant)
	return log.Newest(ctx, rows.IDOf(c.device), c.cause.From)
}

func (c *comparison) base() int64 { return int64(rows.FormerKeys(c.device)) * versionsOfKey }

// read reads what is stored as said by the feed, then what the device shows, and its mark.
func (c *comparison) read(ctx context.Context) error {
	s, t := c.store, c.tenant
	c.said, c.shows = rows.Logged{}, nil
	var text []byte
	q := cql.Ask("SELECT logged FROM latest_by_device WHERE tenant = ? AND device = ? LIMIT 1", 2)
	args := []any{t.Key, string(c.device)}
	err := s.db.Each(ctx, q, args, []any{&text}, func() {
		c.said = rows.UnpackLogged(text)
	})
	c.stored = c.said.Version
	if err != nil {
		return err
	}
	v := c.known
	if c.known = nil; v == nil {
		v, err = s.readView(ctx, t, c.device, true)
	}
	if err != nil {
		return err
	}
	c.marked = v.pending
	if s.tenants.purgedOf(t.Key).devices.Present(c.device) && v.Alive(t.Record.States) {
		c.shows, err = s.showing(ctx, t, c.device, v)
	}
	return err
}

func (c *comparison) change() changelog.Change {
	return changelog.Change{
		From: c.cause.From, Version: max(c.said.Version, c.base()) + 1, Change: andon.Change{
			Kind: c.cause.Kind, Device: rows.IDOf(c.device), Before: c.said.Shown, After: c.after,
			Entry: c.cause.Entry,
		},
	}
}

// end stores what the feed said last, and removes the marks of changes that it has. It is not done
// if another process was faster to append a change of the device to something else. If that was to
// the same, the feed has said what was read, and the device is not read again: a device whose state
// changes all the time would have changed again, and the change be on its way.
func (c *comparison) end(ctx context.Context) (err error) {
	if c.differs {
		mine := c.change()
		newest, there, err := c.newest(ctx)
		if err != nil || !there || newest.Version != mine.Version ||
			!andon.ShowAlike(newest.After, mine.After) {
			return err
		}
		c.said = rows.Logged{Version: mine.Version, Shown: mine.After}
	}
	c.done = true
	key := c.tenant.Key
	var m cql.Mutation
	if c.said.Version > c.stored {
		if m, err = c.said.Set(key, c.device); err != nil {
			return err
		}
	}
	if !c.other || c.store.hasEnded(c.cause) {
		m = append(m, c.cause.End(key, c.device)...)
	}
	if p := c.marked; p != nil && p.Stamp != c.cause.Stamp && c.store.hasEnded(p) {
		m = append(m, p.End(key, c.device)...)
	}
	if len(m) == 0 {
		return nil
	}
	return c.store.db.Write(ctx, m)
}

// hasEnded reports whether a marked write is no longer in progress: an append would have given up.
func (s *Store) hasEnded(p *rows.Pending) bool {
	return s.now().Sub(time.UnixMicro(p.Stamp)) > max(10*time.Second, s.options.writeWithin())
}

// complete brings the feed up to date for a device that is marked by a write of somebody else, and
// returns what the device shows then.
func (s *Store) complete(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, mark *rows.Pending,
) (*andon.Device, error) {
	c := s.comparison(t, device, mark)
	c.other = true
	err := s.inFeed(ctx, t, c)
	return c.shows, err
}

// changedBy brings the feed up to date after a write without a mark.
func (s *Store) changedBy(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, kind andon.ChangeKind,
	entry andon.EntryRef,
) error {
	cause, err := s.pending(ctx, t, kind, 0)
	if err != nil || cause == nil {
		return err
	}
	cause.Entry = entry
	return s.changed(ctx, t, cause, device)
}

// changed brings the feed up to date after a write whose mark was written with it.
func (s *Store) changed(
	ctx context.Context, t *rows.Tenant, cause *rows.Pending, devices ...andon.DeviceID,
) error {
	if cause == nil {
		return nil
	}
	var all []*comparison
	for _, device := range devices {
		all = append(all, s.comparison(t, device, cause))
	}
	return s.inFeed(ctx, t, all...)
}

// tendFeeds has the feeds of all tenants last.
func (s *Store) tendFeeds(ctx context.Context) error {
	if !s.feeds {
		return nil
	}
	return s.Each(ctx, func(t *shared.Tenant) error { return s.Logs.Tend(ctx, t) })
}
