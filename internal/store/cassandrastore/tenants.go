package cassandrastore

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/rwlock"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared"
	doc "github.com/andonhq/andon/internal/store/tenants"
)

// tenant is what is known of one tenant.
type tenant struct {
	*shared.Tenant
	purged *purged // nil: none was
}

// tenants is what is known of tenants beside their documents.
type tenants struct {
	mu      sync.Mutex
	appends map[andon.TenantID]*rwlock.Lock
	purged  map[string]*purged   // by key
	listed  map[string]time.Time // when those were read
}

func newTenants() *tenants {
	return &tenants{
		appends: map[andon.TenantID]*rwlock.Lock{},
		purged:  map[string]*purged{}, listed: map[string]time.Time{},
	}
}

// appendsOf returns the lock of a tenant's appends: they hold it beside each other, and a change of
// severities alone, since what an append writes follows from them.
func (t *tenants) appendsOf(id andon.TenantID) *rwlock.Lock {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.appends[id]
	if l == nil {
		l = &rwlock.Lock{}
		t.appends[andon.TenantID(strings.Clone(string(id)))] = l
	}
	return l
}

// serveRecords has the records and the tenants served by their documents. A tenant's place is the
// incarnation that it is in.
func (s *Store) serveRecords() {
	s.Documents = &shared.Documents{
		Read: s.readDocument, Write: s.writeDocument, Stamp: s.stamp,
	}
	s.Tenancy = &shared.Tenancy{
		Documents: s.Documents, Now: s.now, Limits: s.limits, Key: tenantKey,
		List: s.Records, Seen: s.seenStates, Change: s.changeStates,
		Over: s.markOver, Ended: s.ended,
	}
	s.Owner = s.KeyOf
}

// tenant returns a tenant that is there.
func (s *Store) tenant(ctx context.Context, id andon.TenantID) (*tenant, error) {
	t, err := s.Known(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := s.purgedNow(ctx, t.Key)
	if err != nil {
		return nil, err
	}
	return &tenant{t, p}, nil
}

// staleTenants has all tenants read again, and which of their devices were purged: another process
// that held itself for alone may have changed them.
func (s *Store) staleTenants() {
	s.AllStale()
	s.tenants.mu.Lock()
	defer s.tenants.mu.Unlock()
	clear(s.tenants.listed)
}

// listIn is what walk yields of a tenant.
func listIn[T any](
	ctx context.Context, s *Store, id andon.TenantID,
	walk func(t *tenant, yield func(T) bool) error,
) iter.Seq2[T, error] {
	return seq.Behind(func() (*tenant, error) { return s.tenant(ctx, id) }, walk)
}

// limits are those of the keyspace, by which Cassandra lets rows expire. They may have been
// shortened since.
func (s *Store) limits() doc.Limits {
	w := s.working.Load()
	const how = "it with `andon store init`"
	return doc.Limits{
		Keeps:    "this keyspace keeps",
		Events:   doc.Limit{Most: w.Retention, Raise: how},
		Readings: doc.Limit{Most: w.Readings, Raise: how},
	}
}

// changeStates begins the next generation where the severity of any state changes. It keeps the
// appends of this process out until the change ends.
func (s *Store) changeStates(
	ctx context.Context, was, is *shared.Tenant,
) (end func(), err error) {
	var all []andon.State
	for _, d := range slices.Concat(was.Record.States.Defs(), is.Record.States.Defs()) {
		all = append(all, d.Name)
	}
	if _, changes := was.Record.States.Reorders(is.Record.States, all); !changes {
		return func() {}, nil
	}
	appends := s.tenants.appendsOf(was.Record.ID)
	if err := appends.Lock(ctx); err != nil {
		return nil, err
	}
	seen, err := s.seenStates(ctx, was.Key)
	if err != nil {
		appends.Unlock()
		return nil, err
	}
	follow(was, is, seen)
	return appends.Unlock, nil
}

// seenStates returns the states that have entries, in order.
func (s *Store) seenStates(ctx context.Context, key string) (seen []andon.State, err error) {
	var state string
	q := cql.Ask("SELECT state FROM states_by_tenant WHERE tenant = ?", 1)
	err = s.db.Each(ctx, q, []any{key}, []any{&state}, func() {
		seen = append(seen, andon.State(state))
	})
	return seen, err
}

// Had is of andon.Tenants. The names of states and metrics do not expire.
func (s *Store) Had(
	ctx context.Context, id andon.TenantID,
) (events, readings bool, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return false, false, err
	}
	seen, err := s.seenStates(ctx, t.Key)
	if err != nil {
		return false, false, err
	}
	q := cql.Ask("SELECT label FROM directory WHERE tenant = ? AND kind = ? AND id = ? LIMIT 1", 3)
	var name string
	err = s.db.Each(ctx, q, []any{t.Key, string(ofNames), ofMetric}, []any{&name}, func() {
		readings = true
	})
	return len(seen) > 0, readings, err
}

// ended notes once more that an incarnation is over, since a purge may have come to it too early.
func (s *Store) ended(ctx context.Context, key string) error {
	err := s.markOver(ctx, key)
	s.counts.Forget(key)
	sleep.Wake(s.over)
	return err
}

// markOver notes that an incarnation is over and its rows are to be given back.
func (s *Store) markOver(ctx context.Context, key string) error {
	return s.db.Write(ctx, []cql.Mutation{cql.One(
		"INSERT INTO purges (part, tenant) VALUES ('purges', ?) USING TIMESTAMP ?",
		key, s.stamp())})
}
