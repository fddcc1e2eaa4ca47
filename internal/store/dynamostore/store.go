package dynamostore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/dynamostore/provision"
	"github.com/andonhq/andon/internal/store/shared"
	"github.com/andonhq/andon/internal/store/shared/changelog"
	"github.com/andonhq/andon/internal/written"
)

// Store is an andon.Store on tables of DynamoDB.
type Store struct {
	shared.DeviceLog
	andon.NoMaintenance
	*changelog.Logs
	*shared.Tenancy

	options Options
	db      *ddb.Client
	stamps  shared.Stamps
	usable  provision.Usable // as Ready last saw the tables

	devices *shared.Devices[device] // as writes last saw them
	// The requests that wait for one device.
	appends  shared.Joins[sent[andon.Event]]
	measures shared.Joins[sent[message]]

	written *written.Rows // index rows that need not be written again
	counts  *shared.Counts
	rates   *items.Rates
	// dividing are the keys of indexes that this process is dividing, by what the rates call them.
	dividing sync.Map
	damaged  sync.Map // the damaged items that were told, by table and key

	work sync.WaitGroup // in the background
	live context.Context
	quit context.CancelFunc
}

var _ andon.Store = (*Store)(nil)

// writtenRows is how many index rows are cached as written: 8 bytes each.
const writtenRows = 1 << 20

// Open opens tables that Init made. What is wrong with the settings, or is not as it must be, is
// Invalid; what can't be reached is Unavailable.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := newStore(o)
	db, err := ddb.Open(ctx, s.clientConfig())
	if err != nil {
		return nil, err
	}
	s.db = db
	s.live, s.quit = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.prepare(ctx); err != nil {
		s.quit()
		db.Close()
		return nil, err
	}
	background := s.live
	purge := func(ctx context.Context) error { return s.purgeAll(ctx, landedAfter) }
	for _, job := range []shared.Job{
		shared.Recount(o.Recount, o.Log.Warn, s.countAll),
		{Do: purge, Every: time.Hour, Wake: s.Purging, Warn: o.Log.Warn,
			Failed: "deleted tenants can't be purged yet"},
		s.Reordering(time.Hour, o.Log.Warn),
	} {
		s.work.Go(func() { job.Run(background) })
	}
	return s, nil
}

// newStore returns a store that has no client yet.
func newStore(o Options) *Store {
	s := &Store{
		options: o, devices: shared.NewDevices[device](), written: written.New(writtenRows),
		counts: shared.NewCounts(o.Now), rates: items.NewRates(),
	}
	s.Logs = changelog.New(changelog.Config{
		Store: logItems{s}, Log: o.Log, Now: o.Now, Tenant: s.tenant, For: o.ChangesFor,
		Bytes: o.ChangesBytes,
		Work:  func(do func(context.Context)) { s.work.Go(func() { do(s.live) }) },
	})
	s.serveRecords()
	return s
}

func (s *Store) clientConfig() ddb.Config {
	o := &s.options
	return ddb.Config{
		Access: o.access(), Prefix: o.Prefix, Timeout: o.Timeout, InFlight: o.InFlight,
		Now: s.now, Unprocessed: s.unprocessed,
	}
}

// prepare checks the tables and creates the default tenant.
func (s *Store) prepare(ctx context.Context) error {
	if err := provision.Verify(ctx, s.db, s.options.tables()); err != nil {
		return err
	}
	if _, err := s.Known(ctx, andon.DefaultTenant); err != nil {
		return err
	}
	return s.checkListed(ctx)
}

// Capabilities implements andon.Store. What is read by key is visible at once; lists use indexes,
// which follow a moment later.
func (s *Store) Capabilities() andon.Capabilities {
	return andon.Capabilities{
		Name: "dynamodb, layout andon", Durable: true, MetricReadings: true, Withdraw: true,
		Purge: true, Reorder: true, Explain: true, Consistency: true,
		SortDevices: true, Whole: true, SlowExpiry: true,
		Changes: true, ChangesDurable: true, ChangesShared: true,
		CountsLag: andon.DurationOf(s.options.Recount),
	}
}

// Ready implements andon.Store: all tables are there, and it reads what every request needs. A
// process that was to write must be able to.
func (s *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_, _, err := s.Stored(ctx, andon.DefaultTenant)
	if errors.Is(err, context.DeadlineExceeded) {
		return andon.Errorf(andon.Unavailable, "DynamoDB did not answer in time: %w", err)
	}
	if err == nil {
		err = s.db.Denied()
	}
	if err == nil {
		err = s.usable.Verify(ctx, s.db, s.options.tables())
	}
	return err
}

// Close implements andon.Store.
func (s *Store) Close() error {
	s.quit()
	s.work.Wait()
	s.db.Close()
	return nil
}

// Figures implements andon.Maintenance.
func (s *Store) Figures(report func(name, help string, value float64, labels ...string)) {
	s.db.Figures(report)
}

// Diagnose implements andon.Maintenance.
func (s *Store) Diagnose(
	ctx context.Context, report func(name, value, source string, advice ...string),
) error {
	service := "region " + s.db.Region()
	if s.options.Endpoint != "" {
		service = s.options.Endpoint
	}
	report("DynamoDB", service, "dynamodb.region, dynamodb.endpoint")
	return provision.Diagnose(ctx, s.db, s.options.tables(), report)
}

// now returns the time of the clock.
func (s *Store) now() time.Time { return s.options.Now().Std() }

// stamp returns a time in µs that is later than all stamps that this process took before.
func (s *Store) stamp() int64 { return s.stamps.Next(s.options.Now()) }
