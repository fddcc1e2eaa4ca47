package dynamostore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cuckoo"
	"github.com/andonhq/andon/internal/store/shared"
)

// Store is an andon.Store on tables of DynamoDB.
type Store struct {
	shared.NoFeed
	andon.NoMaintenance
	*shared.Documents
	*shared.Tenancy
	shared.NoTenantEvents

	options  Options
	db       *dynamodb.Client
	inFlight chan struct{}
	meter    meter
	stamps   shared.Stamps

	devices *shared.Devices[device] // what writes last saw of their devices
	// The requests that wait for one device.
	appends  shared.Joins[sent[andon.Event]]
	measures shared.Joins[sent[message]]

	written *cuckoo.Written // index rows that need not be written again
	counts  *shared.Counts
	rates   *rates
	over    chan struct{} // a incarnation of a tenant is over

	work sync.WaitGroup // of the store itself
	quit context.CancelFunc
}

var _ andon.Store = (*Store)(nil)

// writtenRows is how many index rows are remembered: 8 bytes each.
const writtenRows = 1 << 20

// Open opens tables that Init made. What is wrong with the settings, or is not as it must be, is
// Invalid; what can't be reached is Unavailable.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{
		options: o, inFlight: make(chan struct{}, o.InFlight),
		devices: shared.NewDevices[device](), written: cuckoo.NewWritten(writtenRows),
		counts: shared.NewCounts(), rates: newRates(), over: make(chan struct{}, 1),
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	s.serveRecords()
	if err := verify(ctx, s.db, o.tables()); err != nil {
		s.idle()
		return nil, err
	}
	err := s.EnsureDefault(ctx)
	if err == nil {
		err = s.checkListed(ctx)
	}
	if err != nil {
		s.idle()
		return nil, err
	}
	background, quit := context.WithCancel(context.WithoutCancel(ctx))
	s.quit = quit
	s.work.Go(func() { s.counts.Recount(background, o.Recount, o.Log.Warn, s.countAll) })
	s.work.Go(func() { s.purge(background) })
	s.work.Go(func() { s.reorderAll(background) })
	return s, nil
}

// connect makes the client.
func (s *Store) connect(ctx context.Context) error {
	c, err := service(ctx, s.options.access())
	if err == nil {
		s.db = dynamodb.NewFromConfig(c, func(d *dynamodb.Options) { d.Retryer = again(&s.meter) })
	}
	return err
}

// again is how often and how late the SDK repeats a call. A request of Andon waits for it, so it is
// repeated sooner and more often than the SDK would by itself. The meter is told each failure.
func again(m *meter) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff = 6, 250*time.Millisecond
		o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(
			func(err error) aws.Ternary {
				m.attempt(err)
				return aws.UnknownTernary
			})}, o.Retryables...)
	})
}

// Capabilities is of andon.Store. What is read by key is there at once; lists go by indexes, which
// follow a moment later.
func (s *Store) Capabilities() andon.Capabilities {
	return andon.Capabilities{
		Name: "dynamodb, layout andon", Durable: true, MetricReadings: true, Withdraw: true,
		Purge: true, Reorder: true, Explain: true, Consistency: true,
		SortDevices: true, Whole: true, SlowExpiry: true,
		CountsBehind: andon.DurationOf(s.options.Recount),
	}
}

// Ready is of andon.Store: it asks for what every request needs.
func (s *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_, _, err := s.Stored(ctx, andon.DefaultTenant)
	if errors.Is(err, context.DeadlineExceeded) {
		return andon.Errorf(andon.Unavailable, "DynamoDB did not answer in time: %w", err)
	}
	return err
}

// Close is of andon.Store.
func (s *Store) Close() error {
	s.quit()
	s.work.Wait()
	s.idle()
	return nil
}

// idle closes the connections.
func (s *Store) idle() { closeIdle(s.db.Options().HTTPClient) }

// now is the clock.
func (s *Store) now() time.Time { return s.options.Now().Std() }

// stamp is a time in µs, above all that this process took before.
func (s *Store) stamp() int64 { return s.stamps.Next(s.options.Now()) }
