package cassandrastore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cuckoo"
	"github.com/andonhq/andon/internal/store/shared"
)

// Store is an andon.Store on one keyspace.
type Store struct {
	shared.NoFeed
	*shared.Documents
	*shared.Tenancy
	shared.NoTenantEvents

	options     Options
	session     *gocql.Session
	version     string // of Cassandra
	datacenter  string
	immediate   bool // what a write acknowledged is what a read sees
	alone       bool // the cluster is one node
	speculation gocql.SpeculativeExecutionPolicy
	inFlight    chan struct{}
	stamps      shared.Stamps

	working       atomic.Pointer[working]
	tenants       *tenants
	devices       *shared.Devices[view] // what appends last saw of their devices
	written       *cuckoo.Written       // index rows that need not be written again
	fullness      *shared.Fullness      // of the partitions that most is written to
	counts        *shared.Counts
	reviews       *shared.Reviews
	over          chan struct{} // an incarnation of a tenant is over
	reordered     chan struct{} // severities were changed
	listedDevices shared.Listed // of the last list of scattered devices

	processes *attendance // what is known of other processes

	join func() // has this process known to them

	work sync.WaitGroup // of the store itself
	quit context.CancelFunc
}

var _ andon.Store = (*Store)(nil)

// Open opens a keyspace that Init made. What is wrong with the settings, or is not as it must be,
// is Invalid or Conflict; what can't be reached is Unavailable.
func Open(ctx context.Context, o Options) (*Store, error) {
	c, err := reach(ctx, o)
	if err != nil {
		return nil, err
	}
	defer c.session.Close()
	c.options.Datacenter = c.datacenter // so that LOCAL_QUORUM is that of one
	stored, text, err := c.ready(ctx)
	if err != nil {
		return nil, err
	}
	c.options.Settle = stored.Settle.Std()
	o = c.options
	w, err := newWorking(stored, text)
	if err != nil {
		return nil, err
	}
	if err := w.whole(ctx, c.session, o.Keyspace); err != nil {
		return nil, err
	}
	config, err := o.config(o.Keyspace)
	if err != nil {
		return nil, err
	}
	session, err := config.CreateSession()
	if err != nil {
		return nil, unreached(o, err)
	}
	r, err := c.replicationOf(ctx, o.Keyspace)
	if err != nil {
		session.Close()
		return nil, err
	}
	s := newStore(c, session, w)
	s.immediate = o.overlap(r, c.datacenter)
	s.alone = len(c.datacenters) == 1 && c.datacenters[c.datacenter] == 1
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newStore(c *cluster, session *gocql.Session, w *working) *Store {
	s := &Store{
		options: c.options, session: session, version: c.version, datacenter: c.datacenter,
		speculation: gocql.NonSpeculativeExecution{},
		inFlight:    make(chan struct{}, c.options.InFlight),
		tenants:     newTenants(), devices: shared.NewDevices[view](),
		written:  cuckoo.NewWritten(writtenRows),
		fullness: shared.NewFullness(shared.PartitionUnits),
		counts:   shared.NewCounts(),
		reviews:  shared.NewReviews(), over: make(chan struct{}, 1),
		reordered: make(chan struct{}, 1),
	}
	if d := c.options.Speculate; d > 0 && c.datacenters[c.datacenter] > 1 {
		s.speculation = &gocql.SimpleSpeculativeExecution{NumAttempts: 1, TimeoutDelay: d}
	}
	s.working.Store(w)
	s.processes = s.newAttendance()
	s.serveRecords()
	return s
}

// ready checks that the keyspace is one that this process may work on.
func (c *cluster) ready(ctx context.Context) (settings, string, error) {
	o := c.options
	r, err := c.replicationOf(ctx, o.Keyspace)
	if err != nil {
		return settings{}, "", err
	}
	if r == nil {
		return settings{}, "", c.missing()
	}
	if err := c.meets(r); err != nil {
		return settings{}, "", err
	}
	stored, text, err := readSettings(ctx, c.session, o)
	switch {
	case err != nil:
		return stored, text, err
	case text == "":
		return stored, text, c.missing()
	}
	if err := stored.agrees(o); err != nil {
		return stored, text, err
	}
	return stored, text, c.viewsEnabled(ctx, stored)
}

// viewsEnabled refuses views where the cluster has them disabled: what is there would still be
// served, but could not be made again.
func (c *cluster) viewsEnabled(ctx context.Context, s settings) error {
	if s.Latest.Design != "view" {
		return nil
	}
	var enabled string
	err := c.session.Query(
		"SELECT value FROM system_views.settings WHERE name = 'materialized_views_enabled'").
		Consistency(gocql.LocalOne).ScanContext(ctx, &enabled)
	if err == nil && enabled == "false" {
		return viewsDisabled()
	}
	return nil // a user without the right to look is told at the first statement that fails
}

func (c *cluster) missing() error {
	how := "`andon store init`"
	if c.nodes() > 1 {
		how = fmt.Sprintf("`andon store init --replication %d`", min(c.nodes(), 3))
	}
	return andon.Errorf(andon.Invalid, "there is no keyspace %s of Andon on this cluster: make it "+
		"with %s (look at it first with --dry-run)", c.options.Keyspace, how)
}

func (c *cluster) nodes() (n int) {
	for _, in := range c.datacenters {
		n += in
	}
	return n
}

// begin makes the default tenant and starts what works beside the calls.
func (s *Store) begin(ctx context.Context) error {
	if err := s.EnsureDefault(ctx); err != nil {
		return err
	}
	background, quit := context.WithCancel(context.WithoutCancel(ctx))
	s.quit = quit
	s.join = sync.OnceFunc(func() { s.work.Go(func() { s.processes.attend(background) }) })
	s.work.Go(func() { s.follow(background) })
	s.work.Go(func() {
		s.counts.Recount(background, s.options.Recount, s.options.Log.Warn, s.countAll)
	})
	s.work.Go(func() { s.review(background) })
	s.work.Go(func() { s.purge(background) })
	s.work.Go(func() { s.reorder(background) })
	return nil
}

// Capabilities is of andon.Store. Under the design "view" lists by state follow a moment later, but
// for a cluster of one node, which writes the view with its table.
func (s *Store) Capabilities() andon.Capabilities {
	w := s.working.Load()
	return andon.Capabilities{
		Name:    "cassandra " + s.version + ", latest by " + w.Latest.Design,
		Durable: true, Immediate: s.immediate && (s.alone || w.Latest.Design != "view"),
		Whole: true, MetricReadings: true, Withdraw: true, Purge: true, Reorder: true,
		Explain:      true,
		CountsBehind: andon.DurationOf(s.options.Recount),
		ListsBehind:  andon.DurationOf(s.options.Settle),
	}
}

// Ready is of andon.Store: it asks for what every request needs.
func (s *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	stored, text, err := readSettings(ctx, s.session, s.options)
	switch {
	case err != nil:
		return err
	case text == "":
		return andon.Errorf(andon.Unavailable, "keyspace %s is gone, or empty: run `andon store "+
			"init`", s.options.Keyspace)
	}
	if err := stored.known(s.options.Keyspace); err != nil {
		return err
	}
	return s.working.Load().whole(ctx, s.session, s.options.Keyspace)
}

// Close is of andon.Store. What it leaves unfinished is only what any reader mends by the way.
func (s *Store) Close() error {
	if s.quit != nil {
		s.quit()
	}
	s.work.Wait()
	s.session.Close()
	return nil
}

// now is the clock.
func (s *Store) now() time.Time { return s.options.Now().Std() }

// every is how old what a process knows of the settings and the tenants may be.
const every = shared.TenantAge

// follow keeps up with the settings, so that a rebuild can go on while the process runs.
func (s *Store) follow(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.refresh(ctx); err != nil && ctx.Err() == nil {
			s.options.Log.Debug("the settings of the keyspace can't be read", "error", err)
		}
	}
}

func (s *Store) refresh(ctx context.Context) error {
	stored, text, err := readSettings(ctx, s.session, s.options)
	if err != nil || text == "" || text == s.working.Load().text {
		return err
	}
	w, err := newWorking(stored, text)
	if err == nil {
		s.working.Store(w)
	}
	return err
}
