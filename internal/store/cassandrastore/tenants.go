package cassandrastore

import (
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/recent"
	"github.com/andonhq/andon/internal/rwlock"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/records"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
	doc "github.com/andonhq/andon/internal/store/tenants"
)

// tenants is what is known of tenants in addition to their documents.
type tenants struct {
	appends sync.Map // of *rwlock.Lock, by id

	mu     sync.Mutex
	purged map[string]purgedList // by key
}

// appendsOf returns the lock of a tenant's appends. Appends share it, and a change of severities
// holds it alone, because what an append writes depends on them.
func (t *tenants) appendsOf(id andon.TenantID) *rwlock.Lock {
	l, known := t.appends.Load(id)
	if !known {
		l, _ = t.appends.LoadOrStore(andon.TenantID(strings.Clone(string(id))), &rwlock.Lock{})
	}
	return l.(*rwlock.Lock)
}

// serveRecords sets up the records, and the tenants on top of them. The place of a tenant is the
// number of its former keys.
func (s *Store) serveRecords() {
	s.Table = &records.Table{
		DB: s.db, Now: s.options.Now, Log: s.options.Log,
		Key: func(ctx context.Context, id andon.TenantID) (string, error) {
			return s.KeyOf(ctx, id) // of the tenancy, which is made of the records
		},
		Index: func(key string) *rows.Index { return s.newIndexRows(key, s.ttl(andon.Forever)) },
	}
	s.Tenancy = &shared.Tenancy{
		Read: s.Table.Read, Write: s.Table.Write, Stamp: s.stamp,
		Recent: recent.Values[*shared.Tenant]{Now: s.options.Now},
		Limits: s.limits, Key: rows.TenantKey,
		List: s.Records, Seen: s.rows.States, Named: s.Names, Hold: s.hold, Refold: s.refold,
		Reordered: make(chan struct{}, 1),
		Over:      s.markOver, Purging: make(chan struct{}, 1), Counts: s.counts,
	}
}

func (s *Store) tenant(ctx context.Context, id andon.TenantID) (*rows.Tenant, error) {
	t, err := s.Known(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := s.purgedNow(ctx, t.Key)
	if err != nil {
		return nil, err
	}
	return &rows.Tenant{Tenant: t, Purged: p}, nil
}

// staleTenants makes the next use read tenants and their purged devices again: another process that
// assumed to be alone may have changed them.
func (s *Store) staleTenants() {
	s.Recent.ForgetAll()
	s.tenants.mu.Lock()
	defer s.tenants.mu.Unlock()
	for key, known := range s.tenants.purged {
		s.tenants.purged[key] = purgedList{devices: known.devices}
	}
}

func listIn[T any](
	ctx context.Context, s *Store, id andon.TenantID, list func(*rows.Tenant) iter.Seq2[T, error],
) iter.Seq2[T, error] {
	return seq.After(func() (*rows.Tenant, error) { return s.tenant(ctx, id) }, list)
}

// limits are the retentions of the keyspace, by which Cassandra lets rows expire. They may have
// been shortened since.
func (s *Store) limits() doc.Limits {
	w := s.working.Load()
	const how = "it with `andon store init`"
	return doc.Limits{
		Keeps:    "this keyspace keeps",
		Events:   doc.Limit{Most: w.Retention, Raise: how},
		Readings: doc.Limit{Most: w.Readings, Raise: how},
	}
}

// hold holds the appends of this process to a tenant.
func (s *Store) hold(ctx context.Context, id andon.TenantID) (release func(), err error) {
	appends := s.tenants.appendsOf(id)
	return appends.Unlock, appends.Lock(ctx)
}

// markOver marks a former key, whose rows are to be deleted.
func (s *Store) markOver(ctx context.Context, key string) error {
	return s.db.Write(ctx, cql.One(
		"INSERT INTO purges (part, tenant) VALUES ('purges', ?) USING TIMESTAMP ?",
		key, s.stamp()))
}
