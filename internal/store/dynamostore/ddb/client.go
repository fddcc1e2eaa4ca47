package ddb

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

// Limits of the service on one call.
const (
	MaxGets   = 100
	MaxWrites = 25
	MaxPage   = 1000 // items; a page has 1 MB at most, too
)

// Config is what a Client is made with.
type Config struct {
	Access
	Prefix   string        // of the names of all tables
	Timeout  time.Duration // of one call, with the SDK's repetitions
	InFlight int           // calls under way at once
	Now      func() time.Time
	// Unprocessed is called with each item of a batch that the service did not write, and the name
	// of its table. It may be nil.
	Unprocessed func(table string, put Item)
}

// Client calls DynamoDB. It may be used concurrently.
type Client struct {
	config   Config
	sdk      *dynamodb.Client
	inFlight chan struct{}
	meter    meter
	denied   atomic.Pointer[denial] // the last one; nil: there was none
}

// denial is a write for which the credentials lack the right.
type denial struct {
	err error
	at  time.Time
}

// deniedFor is for how long a denial says that writes are not served. After that they are tried:
// who sends them may ask first whether they are.
const deniedFor = time.Minute

// Now returns the time of the clock.
func (c *Client) Now() time.Time { return c.config.Now() }

// Denied returns why writes are not served, as far as one was denied lately; nil: none was.
func (c *Client) Denied() error {
	if d := c.denied.Load(); d != nil && c.config.Now().Sub(d.at).Abs() < deniedFor {
		return d.err
	}
	return nil
}

// Open returns a client of the service that the configuration names. It calls nothing yet, apart
// from what gives it credentials.
func Open(ctx context.Context, config Config) (*Client, error) {
	to, err := Connect(ctx, config.Access)
	if err != nil {
		return nil, err
	}
	return New(to, config), nil
}

// New returns a client that sends its calls as the configuration of the SDK says.
func New(to aws.Config, config Config) *Client {
	c := &Client{config: config, inFlight: make(chan struct{}, config.InFlight), meter: meter{
		consumed: map[consumer]float64{}, failed: map[string]int64{}, attempts: map[string]int64{},
	}}
	c.sdk = dynamodb.NewFromConfig(to, func(o *dynamodb.Options) { o.Retryer = retryer(&c.meter) })
	return c
}

// retryer decides how often and how soon the SDK repeats a call. A request of Andon waits for it,
// so it is repeated sooner and more often than by default. The meter counts each failed attempt.
func retryer(m *meter) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff = 6, 250*time.Millisecond
		o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(
			func(err error) aws.Ternary {
				m.attempt(err)
				return aws.UnknownTernary
			})}, o.Retryables...)
	})
}

// SDK returns the client of the SDK, for what creates and checks tables.
func (c *Client) SDK() *dynamodb.Client { return c.sdk }

// Region returns the region of the service.
func (c *Client) Region() string { return c.sdk.Options().Region }

// Close closes idle connections.
func (c *Client) Close() { CloseIdle(c.sdk.Options().HTTPClient) }

func (c *Client) name(table string) *string { return aws.String(c.config.Prefix + table) }

type consumption = []types.ConsumedCapacity

// consumedBy takes it from the output of a call of the SDK.
func consumedBy(out any) consumption {
	switch used := reflect.ValueOf(out).Elem().FieldByName("ConsumedCapacity").Interface().(type) {
	case consumption:
		return used
	case *types.ConsumedCapacity:
		if used != nil {
			return consumption{*used}
		}
	}
	return nil
}

// call waits for its turn, does one call within the timeout, and counts what it consumed.
//
// A write that has begun is waited for, also where the context ends: given up, it may still be
// done, at any time, and then put an entry back to what it was before the client sent it again. It
// carries the operator that was assigned when it began. What is left is a write that the service
// does after its own timeout.
func call[In, Out any](
	ctx context.Context, c *Client, operation, table string,
	do func(context.Context, In, ...func(*dynamodb.Options)) (Out, error), in In,
) (out Out, err error) {
	select {
	case c.inFlight <- struct{}{}:
	case <-ctx.Done():
		return out, ctx.Err()
	}
	defer func() { <-c.inFlight }()
	within := ctx
	if !reads(operation) {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		within = context.WithoutCancel(ctx)
	}
	within, cancel := context.WithTimeout(within, c.config.Timeout)
	defer cancel()
	if out, err = do(within, in); err == nil {
		c.meter.note(operation, consumedBy(out), nil)
		return out, nil
	}
	c.meter.note(operation, nil, err)
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	failed := Failure(operation, c.config.Prefix+table, err)
	var api smithy.APIError
	if !reads(operation) && errors.As(err, &api) && api.ErrorCode() == denied {
		c.denied.Store(&denial{failed, c.config.Now()})
	}
	return out, failed
}

func reads(operation string) bool {
	switch operation {
	case "GetItem", "BatchGetItem", "Query", "Scan":
		return true
	}
	return false
}

// Pause waits before what was left unprocessed, or lost a race, is tried again: with exponential
// backoff and jitter. After 14 tries it returns Busy, so that the client is pushed back.
func (c *Client) Pause(ctx context.Context, tries int, doing, table string) error {
	const most = 14
	if tries >= most {
		return andon.Errorf(andon.Busy, "%s %s: DynamoDB left a part undone %d times: raise the "+
			"capacity of the table", doing, c.config.Prefix+table, tries)
	}
	longest := min(2*time.Second, 5*time.Millisecond<<tries)
	return sleep.For(ctx, rand.N(longest)+time.Millisecond)
}

// Again does something, and again while it fails with an error, after a Pause.
func (c *Client) Again(
	ctx context.Context, on error, doing, table string, do func() error,
) error {
	for tries := 0; ; tries++ {
		err := do()
		if !errors.Is(err, on) {
			return err
		}
		if err := c.Pause(ctx, tries, doing, table); err != nil {
			return err
		}
	}
}

// Actions returns what IAM must allow a process on its tables and their indexes. updates says that
// it writes by Update.
func Actions(updates bool) []string {
	all := []string{"BatchGetItem", "BatchWriteItem", "DescribeTable", "DescribeTimeToLive",
		"GetItem", "PutItem", "Query", "Scan"}
	if updates {
		all = append(all, "UpdateItem")
	}
	return all
}
