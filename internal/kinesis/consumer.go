// Package kinesis reads streams of Amazon Kinesis. Processes on one store share the shards of a
// stream by leases, which also keep how far each shard was read.
//
// It alone knows the service's SDK. It knows nothing of what records become: that is what Write
// does with them.
package kinesis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/outage"
	"github.com/andonhq/andon/internal/sleep"
)

type api struct {
	list     call[kinesis.ListShardsInput, kinesis.ListShardsOutput]
	iterator call[kinesis.GetShardIteratorInput, kinesis.GetShardIteratorOutput]
	records  call[kinesis.GetRecordsInput, kinesis.GetRecordsOutput]
}

type call[In, Out any] func(context.Context, *In, ...func(*kinesis.Options)) (*Out, error)

// Writer keeps messages, as source.Writer does.
type Writer interface {
	Write(ctx context.Context, messages []mapping.Message) error
}

// Consumer reads the shards of a source that fall to this process.
//
// The position of a shard is saved once the Writer has kept the messages before it, so each message
// is kept at least once. While the Writer waits, no more is read. A child of a shard is read once
// its parents were read to the end, so the messages of one key are kept in their order.
type Consumer struct {
	Source Source
	Leases *lease.Holder
	Writer Writer
	Now    func() andon.Time
	Log    *slog.Logger

	Failures outage.Log // by shard, and "" for the rest

	api   api
	from  andon.Time    // where shards begin that were never read; 0: at their oldest record
	turns chan struct{} // one for each shard of which records are in memory

	mu     sync.Mutex
	behind map[string]lag    // by shard, and "" for the list of them
	first  map[string]string // by shard, as position has it
}

// lag is how far behind its shard a read was, and when that was.
type lag struct {
	late time.Duration
	read andon.Time
}

// Pace. A shard answers five calls a second, for all who read it.
const (
	eachRead  = 200 * time.Millisecond
	atTip     = time.Second     // between reads of a shard that has nothing more
	afterward = 2 * time.Second // an error
	// mostRead is how many shards may have records in memory, up to 10 MB each.
	mostRead = 4
	// unread is after how long a shard that can't be read counts as behind by that time.
	unread   = andon.Duration(60_000_000)
	mostTold = 10_000 // records that the service returns at most
)

// position is how far a shard was read, as its lease has it.
type position struct {
	// First is where the shard begins. A shard of a stream that was deleted and made again may have
	// the same name, but begins elsewhere: nothing of it was read.
	First string     `json:"first"`
	After string     `json:"after,omitempty"` // sequence number, or shardEnd
	Time  andon.Time `json:"time,omitempty"`  // of the last message
}

// shardEnd is the position of a shard that was closed by resharding and read to its end.
const shardEnd = "SHARD_END"

func (p *position) save(ctx context.Context, l *lease.Lease) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return l.Save(ctx, andon.JSON(text))
}

// parse returns how far the shard was read that begins there.
func parse(text andon.JSON, first string) (p position, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &p)
	}
	if p.First != first {
		p = position{First: first}
	}
	return p, err
}

// Run reads until the context ends. An error is that of the configuration: what is out of reach is
// tried again.
func (c *Consumer) Run(ctx context.Context) (err error) {
	if c.api.list == nil {
		if c.api, err = c.Source.connect(ctx); err != nil {
			return err
		}
	}
	c.turns = make(chan struct{}, mostRead)
	c.Failures.Logger = c.Log.With("source", c.Source.Name)
	c.Failures.Begins, c.Failures.Ends = "source can't be read", "source is read again"
	c.mu.Lock()
	c.behind = map[string]lag{"": {read: c.Now()}}
	c.mu.Unlock()
	group := &lease.Group{
		Holder: c.Leases, Name: "kinesis/" + c.Source.Name + "/" + c.Source.Stream, Parts: c.shards,
		Work: c.read, Failed: func(_ string, err error) { c.Failures.Note("", err) },
	}
	for ctx.Err() == nil {
		if err = c.begin(ctx, group.Name); err == nil {
			group.Run(ctx)
			return nil
		}
		c.Failures.Note("", err)
		_ = sleep.For(ctx, afterward)
	}
	return nil
}

// startKind is the kind of the records that hold when any process began to read a stream from its
// newest record. What was sent after that is read, whatever happens.
const startKind andon.RecordKind = "kinesis_start"

// begin finds out where shards begin that were never read.
func (c *Consumer) begin(ctx context.Context, name string) error {
	if c.Source.Start != newest {
		c.from, _ = andon.ParseTime(c.Source.Start) // oldest is none, and 0
		return nil
	}
	now, err := json.Marshal(c.Now())
	if err != nil {
		return err
	}
	r := andon.Record{Kind: startKind, ID: name, Data: andon.JSON(now)}
	if _, err = c.Leases.Records.PutRecord(ctx, r); andon.KindOf(err) == andon.Conflict {
		r, err = c.Leases.Records.Record(ctx, "", startKind, name)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(r.Data), &c.from)
}

// shards returns the shards that can be read: not read to the end, and their parents are, as far as
// they are still there.
func (c *Consumer) shards(
	ctx context.Context, positions map[string]andon.JSON,
) (ready, gone []string, err error) {
	var all []types.Shard
	for in := (&kinesis.ListShardsInput{StreamName: &c.Source.Stream}); in != nil; {
		out, err := c.api.list(ctx, in)
		if err != nil {
			return nil, nil, fmt.Errorf("list the shards of %s: %w", c.Source.Stream, err)
		}
		all = append(all, out.Shards...)
		if in = nil; out.NextToken != nil {
			in = &kinesis.ListShardsInput{NextToken: out.NextToken}
		}
	}
	c.isBehind("", 0)
	left, first := map[string]bool{}, map[string]string{} // to be read
	for i := range all {
		id := *all[i].ShardId
		first[id] = aws.ToString(all[i].SequenceNumberRange.StartingSequenceNumber)
		p, err := parse(positions[id], first[id])
		if err != nil {
			return nil, nil, err
		}
		left[id] = p.After != shardEnd
	}
	c.mu.Lock()
	c.first = first
	c.mu.Unlock()
	waits := func(parent *string) bool { return parent != nil && left[*parent] }
	for i := range all {
		s := &all[i]
		if left[*s.ShardId] && !waits(s.ParentShardId) && !waits(s.AdjacentParentShardId) {
			ready = append(ready, *s.ShardId)
		}
	}
	for shard := range positions {
		if _, is := left[shard]; !is {
			gone = append(gone, shard)
		}
	}
	return ready, gone, nil
}

// read reads a shard until it ends.
func (c *Consumer) read(ctx context.Context, shard string, l *lease.Lease) error {
	defer c.leave(shard)
	p, err := parse(l.Position(), c.firstOf(shard))
	if err != nil {
		return err
	}
	c.isBehind(shard, 0)
	for iterator := (*string)(nil); ; {
		turn, end := context.WithTimeout(ctx, eachRead) // the next read begins after it
		var pause time.Duration
		iterator, pause, err = c.step(ctx, shard, iterator, l, &p)
		if err == nil && p.After != shardEnd {
			err = sleep.For(ctx, pause)
			<-turn.Done()
		}
		end()
		if err != nil || p.After == shardEnd {
			return err
		}
	}
}

// step reads some records, has them written, and saves the position. It returns where to read next,
// and how long to wait before that. An error is that of the store, or of the context.
func (c *Consumer) step(
	ctx context.Context, shard string, iterator *string, l *lease.Lease, p *position,
) (next *string, pause time.Duration, err error) {
	select {
	case c.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
	defer func() { <-c.turns }()
	if iterator == nil {
		if first := c.firstOf(shard); p.First != first {
			*p = position{First: first}
		}
		iterator, err = c.iterator(ctx, shard, p)
	}
	var out *kinesis.GetRecordsOutput
	if err == nil {
		out, err = c.api.records(ctx, &kinesis.GetRecordsInput{ShardIterator: iterator})
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, 0, context.Cause(ctx)
	case errors.As(err, new(*types.ExpiredIteratorException)): // Write took minutes
		return nil, 0, nil
	case errors.As(err, new(*types.ProvisionedThroughputExceededException)): // others read it, too
		return iterator, atTip, nil
	default:
		c.Failures.Note(shard, fmt.Errorf("read %s of %s: %w", shard, c.Source.Stream, err))
		return nil, afterward, nil
	}
	c.Failures.Note(shard, nil)
	late := time.Duration(aws.ToInt64(out.MillisBehindLatest)) * time.Millisecond
	c.isBehind(shard, late)
	if len(out.Records) > 0 {
		if err := c.Writer.Write(ctx, c.messages(shard, out.Records, p)); err != nil {
			return nil, 0, err
		}
	}
	if out.NextShardIterator == nil {
		p.After = shardEnd
	}
	if len(out.Records) > 0 || p.After == shardEnd {
		err = p.save(ctx, l)
	}
	if late == 0 && len(out.Records) < mostTold {
		pause = atTip
	}
	return out.NextShardIterator, pause, err
}

// iterator returns where the service is to go on with a shard.
func (c *Consumer) iterator(ctx context.Context, shard string, p *position) (*string, error) {
	in := &kinesis.GetShardIteratorInput{
		StreamName: &c.Source.Stream, ShardId: &shard,
		ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	}
	switch from := c.from.Std(); {
	case p.After != "":
		in.ShardIteratorType = types.ShardIteratorTypeAfterSequenceNumber
		in.StartingSequenceNumber = &p.After
	case c.from > 0:
		in.ShardIteratorType, in.Timestamp = types.ShardIteratorTypeAtTimestamp, &from
	}
	out, err := c.api.iterator(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.ShardIterator, nil
}

// messages returns what records hold, and moves the position after them. The service gives records
// their time in milliseconds. A message that has not a later one than the message before it in the
// shard has the next microsecond. The position keeps the last time, so a message that is read again
// has the same one.
func (c *Consumer) messages(
	shard string, records []types.Record, p *position,
) (all []mapping.Message) {
	for i := range records {
		r := &records[i]
		p.After = *r.SequenceNumber
		place := c.Source.Stream + "/" + shard + "/" + p.After
		users, packed := unpack(*r.PartitionKey, r.Data)
		for n, user := range users {
			p.Time = max(p.Time+1, andon.TimeOf(aws.ToTime(r.ApproximateArrivalTimestamp)))
			m := mapping.Message{
				Place: place, Topic: c.Source.Stream, Key: user.key, Value: user.data, Time: p.Time,
			}
			if packed {
				m.Place = fmt.Sprint(place, "/", n)
			}
			all = append(all, m)
		}
	}
	return all
}

// firstOf returns where a shard begins.
func (c *Consumer) firstOf(shard string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first[shard]
}

func (c *Consumer) isBehind(shard string, late time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind[shard] = lag{late, c.Now()}
}

// leave forgets a shard that another process may have now.
func (c *Consumer) leave(shard string) {
	c.Failures.Forget(shard)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.behind, shard)
}

// Behind returns how long before the newest record of its shard the oldest record was sent that
// this process has not read. Where a shard, or the list of them, can't be read, it grows.
func (c *Consumer) Behind() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, longest := c.Now(), time.Duration(0)
	for _, is := range c.behind {
		if since := now.Sub(is.read); since >= unread {
			is.late += since.Std()
		}
		longest = max(longest, is.late)
	}
	return longest
}
