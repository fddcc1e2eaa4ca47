package changelog

import (
	"context"
	"iter"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/feed"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/shared"
)

// Store is what a database does for the logs. Its methods may be called concurrently.
type Store interface {
	// Insert stores an item unless the partition has one of that number, and reports whether it
	// did. After an error the item may be stored.
	Insert(ctx context.Context, partition string, i Item) (inserted bool, err error)
	// Read returns items of a partition from a number on, in an order: at most limit, and fewer if
	// they are large, but one if there is any. It finds every item that was inserted before.
	Read(
		ctx context.Context, partition string, from uint64, o andon.Order, limit int,
	) ([]Item, error)
	// Extend replaces an item by the same one with a later Expires.
	Extend(ctx context.Context, partition string, i Item) error
	// Drop deletes the items of a partition before a number. It may be repeated.
	Drop(ctx context.Context, partition string, before uint64) error
}

// Item is one numbered item of a partition.
type Item struct {
	Number  uint64
	At      andon.Time // not before that of the item with the previous number
	Expires andon.Time // the database may delete the item from then on; 0: never
	Data    []byte     // at most about 300 KB
}

// Config is what Logs are made with.
type Config struct {
	Store Store // nil: there is no feed
	Log   *slog.Logger
	Now   func() andon.Time
	// Tenant returns a tenant that exists.
	Tenant func(context.Context, andon.TenantID) (*shared.Tenant, error)
	// Work runs something in the background, with a context that ends when the store is closed.
	Work func(func(context.Context))
	// For and Bytes are for how long, and up to about how many stored bytes, changes of a tenant
	// are kept.
	For   time.Duration
	Bytes int64
}

// Logs are the logs of all tenants of a store. With shared.DeviceLog they implement andon.Feed.
type Logs struct {
	config Config
	codec  codec

	mu  sync.Mutex
	all map[string]*Log // by Tenant.Key
}

// New returns the logs of a store. It reads nothing yet.
func New(c Config) *Logs { return &Logs{config: c, codec: newCodec(), all: map[string]*Log{}} }

// ForTenant returns the log of a tenant, which need not be open. Those that were not used for a
// while are forgotten: they are opened again when they are needed.
func (s *Logs) ForTenant(t *shared.Tenant) *Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.all[t.Key]
	if l == nil {
		maps.DeleteFunc(s.all, func(_ string, l *Log) bool { return !l.isOpen() })
		l = newLog(s, t)
		s.all[t.Key] = l
	}
	return l
}

func (s *Logs) open(ctx context.Context, id andon.TenantID) (*Log, error) {
	if s.config.Store == nil {
		return nil, shared.ErrNoFeed
	}
	t, err := s.config.Tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	l := s.ForTenant(t)
	return l, l.open(ctx)
}

// Delete deletes the log of a tenant that was deleted, by its key. It may be repeated.
func (s *Logs) Delete(ctx context.Context, key string) error {
	s.mu.Lock()
	delete(s.all, key)
	s.mu.Unlock()
	marks, err := s.marks(ctx, key)
	for _, m := range marks {
		if err == nil {
			err = s.config.Store.Drop(ctx, partition(key, m.Number*perPartition), everything)
		}
	}
	if err != nil {
		return err
	}
	return s.config.Store.Drop(ctx, key, everything)
}

// Changes implements andon.Feed.
func (s *Logs) Changes(
	ctx context.Context, id andon.TenantID, after andon.Position,
) iter.Seq2[andon.Change, error] {
	return seq.Of(func(yield func(andon.Change) bool) error {
		l, err := s.open(ctx, id)
		if err == nil {
			err = l.readOn(ctx, 0)
		}
		if err != nil {
			return err
		}
		after = after.OfChanges()
		if !l.gave(after) {
			return feed.Gone()
		}
		return l.changes(ctx, after, yield)
	})
}

// Beat is how often the log is read by each process in which someone waits.
const Beat = 250 * time.Millisecond

// AwaitChange implements andon.Feed. What this process appends wakes at once; what others append is
// found within a Beat.
func (s *Logs) AwaitChange(ctx context.Context, id andon.TenantID, after andon.Position) error {
	for {
		l, err := s.open(ctx, id)
		if err == nil {
			err = l.readOn(ctx, Beat)
		}
		if err == nil && !l.gave(after) { // another process may have given it just now
			err = l.readOn(ctx, 0)
		}
		switch {
		case err != nil:
			return err
		case !l.gave(after):
			return feed.Gone()
		}
		waiting, cancel := context.WithTimeout(ctx, Beat)
		err = l.news.Wait(waiting, after.Sequence)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// ChangesKept implements andon.Feed.
func (s *Logs) ChangesKept(
	ctx context.Context, id andon.TenantID,
) (oldest, newest andon.Position, err error) {
	l, err := s.open(ctx, id)
	if err == nil {
		err = l.readOn(ctx, 0)
	}
	if err != nil {
		return oldest, newest, err
	}
	end := l.end()
	first, err := l.oldest(ctx, end)
	return l.position(first), l.position(end), err
}

// PrepareTenant is called before a change of a tenant's record is stored: the record then says from
// where on the change is in the log.
func (s *Logs) PrepareTenant(ctx context.Context, t *shared.Tenant) error {
	next, err := s.ForTenant(t).Next(ctx)
	t.LoggedFrom = next + 1
	return err
}

// Tend has the log of a tenant last, however long nothing changes, and appends the newest change of
// the tenant's record where a process left it. A store calls it several times while an item
// is kept.
func (s *Logs) Tend(ctx context.Context, t *shared.Tenant) error {
	l := s.ForTenant(t)
	if err := l.open(ctx); err != nil {
		return err
	}
	if err := l.readOn(ctx, Beat); err != nil {
		return err
	}
	return s.AppendTenant(ctx, t)
}

// AppendTenant appends the newest change of a tenant's record, unless it is in the log.
func (s *Logs) AppendTenant(ctx context.Context, t *shared.Tenant) error {
	if t.LoggedFrom == 0 {
		return nil // it was created before there was a reader
	}
	record := t.Record
	return s.ForTenant(t).Append(ctx, Change{
		Change: andon.Change{Kind: andon.OfTenant, Tenant: &record},
		From:   t.LoggedFrom - 1, Version: int64(record.Version),
	})
}
