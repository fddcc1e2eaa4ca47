package cassandrastore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/health"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/processes"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
	"github.com/andonhq/andon/internal/store/cassandrastore/records"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
	"github.com/andonhq/andon/internal/store/shared/changelog"
	"github.com/andonhq/andon/internal/written"
)

// Store implements andon.Store on one keyspace.
type Store struct {
	shared.DeviceLog
	andon.NoMaintenance
	*changelog.Logs
	*records.Table
	*shared.Tenancy

	options   Options
	db        *cql.Session
	rows      rows.Reader // on db
	version   string      // of Cassandra
	immediate bool        // a read sees what a write acknowledged
	alone     bool        // the cluster is one node
	stamps    shared.Stamps

	working atomic.Pointer[provision.Working]
	tenants tenants
	devices *shared.Devices[view] // what appends last saw of their devices
	written *written.Rows         // index rows that need not be written again
	counts  *shared.Counts
	reviews *merge.Reviews

	partitionUnits int64 // that a partition of the log may have

	feeds bool // Logs are served: a read finds what any process has appended

	processes *processes.Processes

	join func() // has this process known to them

	work sync.WaitGroup // of the store itself
	live context.Context
	quit context.CancelFunc
}

var _ andon.Store = (*Store)(nil)

// Open opens a keyspace that Init made. Settings that are wrong are Invalid, a keyspace that is not
// as it must be is Conflict, and a cluster that can't be reached is Unavailable.
func Open(ctx context.Context, o Options) (*Store, error) {
	o.Options.Options = o.Complete()
	c, err := cql.Reach(ctx, o.Options.Options)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.Options.Datacenter = c.Datacenter // so that LOCAL_QUORUM is that of one
	o.Datacenter = c.Datacenter
	w, err := provision.Load(ctx, c, o.Options)
	if err != nil {
		return nil, err
	}
	o.Settle = w.Settle.Std()
	r, err := c.ReplicationOf(ctx, o.Keyspace)
	if err != nil {
		return nil, err
	}
	db, err := c.Connect()
	if err != nil {
		return nil, err
	}
	s := newStore(o, db, w)
	s.version = c.Version
	s.immediate = o.Overlap(r, c.Datacenter)
	s.serveFeed(s.immediate && len(r) == 1)
	s.alone = len(c.Datacenters) == 1 && c.Datacenters[c.Datacenter] == 1
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newStore(o Options, db *cql.Session, w *provision.Working) *Store {
	s := &Store{
		options: o, db: db, rows: rows.Reader{DB: db},
		tenants: tenants{purged: map[string]purgedList{}}, devices: shared.NewDevices[view](),
		written:        written.New(rows.WrittenRows),
		partitionUnits: rows.PartitionUnits,
		counts:         shared.NewCounts(o.Now),
		reviews:        merge.NewReviews(),
	}
	s.working.Store(w)
	s.processes = processes.New(db, o.pace, s.stamp, s.boundToOthers)
	s.serveRecords()
	return s
}

func (s *Store) begin(ctx context.Context) error {
	background, quit := context.WithCancel(context.WithoutCancel(ctx))
	s.live, s.quit = background, quit
	if _, err := s.Known(ctx, andon.DefaultTenant); err != nil {
		return err
	}
	s.join = sync.OnceFunc(func() { s.work.Go(func() { s.processes.Run(background) }) })
	s.work.Go(func() { s.review(background) })
	warn := s.options.Log.Warn
	purge := func(ctx context.Context) error { return s.purgeAll(ctx, s.options.landedAfter()) }
	for _, job := range []shared.Job{
		shared.Recount(s.options.Recount, warn, s.countAll),
		{Do: s.refresh, Every: every, Warn: s.options.Log.Debug,
			Failed: "the settings of the keyspace can't be read"},
		{Do: purge, Every: purgeEvery, Wake: s.Purging, Warn: warn,
			Failed: "what is left of deleted tenants and purged devices can't be removed yet"},
		s.Reordering(time.Minute, warn),
	} {
		s.work.Go(func() { job.Run(background) })
	}
	return nil
}

// Capabilities implements andon.Store. Under the design "view" lists by state follow a moment
// later, except on a cluster of one node, which writes the view together with its table.
func (s *Store) Capabilities() andon.Capabilities {
	w := s.working.Load()
	return andon.Capabilities{
		Name:    "cassandra " + s.version + ", latest by " + w.Latest.Design,
		Durable: true, Immediate: s.immediate && (s.alone || w.Latest.Design != "view"),
		Whole: true, MetricReadings: true, Withdraw: true, Purge: true, Reorder: true,
		Explain: true, Changes: s.feeds, ChangesDurable: s.feeds, ChangesShared: s.feeds,
		CountsLag: andon.DurationOf(s.options.Recount),
		ListsLag:  andon.DurationOf(s.options.Settle),
	}
}

// Ready implements andon.Store: it reads what every request needs. A process that was to write must
// be able to.
func (s *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	stored, text, err := provision.ReadSettings(ctx, s.db, s.options.Keyspace)
	if err != nil {
		return err
	}
	if text == "" {
		return andon.Errorf(andon.Unavailable, "keyspace %s is gone, or empty: run `andon store "+
			"init`", s.options.Keyspace)
	}
	if err := stored.Known(s.options.Keyspace); err != nil {
		return err
	}
	if err := s.working.Load().Complete(ctx, s.db, s.options.Keyspace); err != nil {
		return err
	}
	return s.processes.Failed()
}

func (s *Store) serveFeed(feeds bool) {
	c := changelog.Config{
		Log: s.options.Log, Now: s.options.Now, Tenant: s.Known,
		For: s.options.ChangesFor, Bytes: s.options.ChangesBytes,
		Work: func(do func(context.Context)) { s.work.Go(func() { do(s.live) }) },
	}
	if s.feeds = feeds; feeds {
		c.Store = &records.Items{DB: s.db, Now: s.now, Stamp: s.stamp}
	}
	if s.Logs = changelog.New(c); feeds {
		s.Tenancy.Feed = s.Logs
	}
}

// Close implements andon.Store. Any reader completes what it leaves unfinished.
func (s *Store) Close() error {
	if s.quit != nil {
		s.quit()
	}
	s.work.Wait()
	s.db.Close()
	return nil
}

func (s *Store) now() time.Time { return s.options.Now().Std() }

// every is the greatest age of what a process knows of the settings and the tenants.
const every = shared.TenantAge

// refresh reads the settings again, so that a rebuild can run while the process does.
func (s *Store) refresh(ctx context.Context) error {
	stored, text, err := provision.ReadSettings(ctx, s.db, s.options.Keyspace)
	if err != nil || text == "" || text == s.working.Load().Text {
		return err
	}
	w, err := provision.NewWorking(stored, text)
	if err == nil {
		s.working.Store(w)
	}
	return err
}

// within bounds all statements of a request together by the time of one. It is for requests of a
// few statements; where there may be many, each has its own time, and the first that fails ends the
// request.
func (s *Store) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.options.Timeout)
}

// stamp returns the write timestamp of a delivery: µs on the clock of this process, strictly
// rising. A statement that is sent again keeps its timestamp, so one that arrives late can't
// overwrite what came later.
func (s *Store) stamp() int64 { return s.stamps.Next(s.options.Now()) }

// Diagnose implements andon.Maintenance.
func (s *Store) Diagnose(
	ctx context.Context, report func(name, value, source string, advice ...string),
) error {
	d := &provision.Diagnosis{
		Session: s.db, Options: s.options.Options, Working: s.working.Load(), Now: s.now,
		Waiting: s.reviews.Len(), Report: report,
	}
	return d.Run(ctx)
}

// Figures implements andon.Maintenance.
func (s *Store) Figures(report func(name, help string, value float64, labels ...string)) {
	health.Figures(s.db, s.options.Keyspace, report)
}

func (s *Store) ttl(r andon.Retention) rows.Lifetime {
	return rows.Lifetime{Retention: r, Now: s.options.Now()}
}

func (s *Store) newIndexRows(tenant string, ttl rows.Lifetime) *rows.Index {
	return rows.NewIndex(s.db, s.written, tenant, ttl)
}
