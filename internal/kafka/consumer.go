package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/outage"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/sleep"
)

// Writer keeps messages, as source.Writer does.
type Writer interface {
	Write(ctx context.Context, messages []mapping.Message) error
}

// Consumer reads the topics of a source as a member of its group.
//
// An offset is committed once the Writer has kept the messages before it, so each message is kept
// at least once. While the Writer waits, no more is read than what the client has in its buffer,
// and the heartbeats go on. A partition is not given to another member while its messages are being
// written. What takes too long is broken off, and read again by whoever has the partition then. So
// nobody commits an offset of a partition that another member has.
type Consumer struct {
	Source *Source

	Failures outage.Log   // of brokers and topics
	Missed   atomic.Int64 // records that the retention of a topic deleted before they were read

	log     *slog.Logger
	options []kgo.Opt
	grace   time.Duration // how long a rebalance waits for messages that are being written
	blocked chan struct{} // wakes what looks after a write when a rebalance waits for it

	since  atomic.Int64 // see since; 0: the group begins with the oldest records
	client *kgo.Client  // of Run
	writer Writer

	mu     sync.Mutex
	behind map[string]int64 // by partition: records that are not kept yet, as of the last fetch
}

const (
	// fetchBytes bounds what is fetched from a broker at once, before it is decompressed. As much
	// again is in the buffer.
	fetchBytes = 1 << 20
	// partitionBytes bounds how much of it is of one partition. A larger batch comes whole.
	partitionBytes = 256 << 10
	// records bounds how many are written and committed at once.
	records = 10_000
	// writers bounds how many partitions are written concurrently.
	writers = 16
	// session is how long a member may be silent until its partitions go to others.
	session = 10 * time.Second
	// answer is how long a commit may take, and leaving the group.
	answer = 3 * time.Second
	// pause is how long is waited after what failed at once.
	pause = time.Second / 4
)

// NewConsumer makes a consumer, which connects in Run. alone says that no other process is in its
// group: it is then the same member after a restart, and need not wait until the group takes the
// one before for dead. The error is Invalid: a file can't be read.
func NewConsumer(
	s *Source, alone bool, now func() andon.Time, log *slog.Logger,
) (*Consumer, error) {
	connection, err := s.options()
	if err != nil {
		return nil, err
	}
	if alone {
		connection = append(connection, kgo.InstanceID("andon-"+s.Name))
	}
	c := &Consumer{
		Source: s, log: log, grace: 5 * time.Second, blocked: make(chan struct{}, 1),
		behind: map[string]int64{}, Failures: outage.Log{
			Logger: log.With("source", s.Name), Part: "what",
			Begins: "kafka: it fails, and is tried again", Ends: "kafka: it works again",
		},
	}
	lost := func(context.Context, *kgo.Client, map[string][]int32) {
		c.mu.Lock()
		defer c.mu.Unlock()
		clear(c.behind) // what stays here is fetched again
	}
	c.options = append(append(connection, s.topics()...),
		kgo.ConsumerGroup(s.Group), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(session), kgo.MetadataMaxAge(3*session),
		kgo.FetchMaxBytes(fetchBytes), kgo.FetchMaxPartitionBytes(partitionBytes),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepRetryableFetchErrors(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsRevoked(lost), kgo.OnPartitionsLost(lost),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) {
			c.Failures.Note("group", nil)
		}),
		kgo.OnPartitionsCallbackBlocked(func(context.Context, *kgo.Client) {
			sleep.Wake(c.blocked)
		}),
		kgo.WithHooks(c))
	if s.Start == newest {
		c.since.Store(int64(now()) / 1000)
		c.options = append(c.options, c.startNewest()...)
	}
	return c, nil
}

// Run reads until the context ends, once. What is wrong with brokers is logged when it begins and
// ends, and tried again.
func (c *Consumer) Run(ctx context.Context, w Writer) (err error) {
	c.writer = w
	if c.client, err = kgo.NewClient(c.options...); err != nil {
		return err
	}
	defer c.leave()
	for ctx.Err() == nil {
		if !c.turn(ctx) {
			_ = sleep.For(ctx, pause)
		}
	}
	return nil
}

// leave lets other members have the partitions at once, where the brokers answer.
func (c *Consumer) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), answer)
	defer cancel()
	_ = c.client.LeaveGroupContext(ctx) // else the session ends by itself
	c.client.Close()
}

// turn reads records, has them written, and commits them. It reports whether there were any.
func (c *Consumer) turn(ctx context.Context) bool {
	fetches := c.client.PollRecords(ctx, records)
	defer c.client.AllowRebalance()
	fetches.EachError(func(topic string, _ int32, err error) { c.fetchFailed(topic, err) })
	parts := c.parts(fetches)
	if len(parts) == 0 || ctx.Err() != nil {
		return false
	}
	if err := c.write(ctx, parts); err != nil {
		c.rewind(parts)
		return true
	}
	last, committed := make([]*kgo.Record, len(parts)), c.client.CommittedOffsets()
	for i, p := range parts {
		last[i] = p.Records[len(p.Records)-1]
		c.setBehind(p, last[i].Offset+1)
		if next, known := committed[p.Topic][p.Partition]; known && next.Offset >= 0 {
			c.miss(p, p.LogStartOffset-next.Offset)
		}
	}
	c.commit(context.WithoutCancel(ctx), last)
	return true
}

// miss counts the records that were deleted before they were read, from the first that was not
// committed.
func (c *Consumer) miss(p kgo.FetchTopicPartition, deleted int64) {
	if deleted > 0 {
		c.Missed.Add(deleted)
		c.log.Error("kafka: the retention of a topic deleted records before they were read",
			"source", c.Source.Name, "topic", p.Topic, "partition", p.Partition,
			"records", deleted)
	}
}

// commit commits what was written, before a rebalance that waits. If it can't, the next commit is
// for this, too, or it is read again.
func (c *Consumer) commit(ctx context.Context, last []*kgo.Record) {
	ctx, cancel := context.WithTimeout(c.withSince(ctx), answer)
	defer cancel()
	for {
		err := c.client.CommitRecords(ctx, last...)
		c.Failures.Note("commit", err)
		if err == nil {
			return
		}
		if woken, err := sleep.Until(ctx, c.blocked, pause); woken || err != nil {
			return
		}
	}
}

// parts returns the records by partition, in their order.
func (c *Consumer) parts(fetches kgo.Fetches) (parts []kgo.FetchTopicPartition) {
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if len(p.Records) > 0 {
			c.setBehind(p, p.Records[0].Offset)
			c.Failures.Note("topic "+p.Topic, nil)
			parts = append(parts, p)
		}
	})
	return parts
}

// write writes partitions concurrently. An error says that it was broken off.
func (c *Consumer) write(ctx context.Context, parts []kgo.FetchTopicPartition) error {
	ctx, quit := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-c.blocked:
			_ = sleep.For(ctx, c.grace)
			quit()
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer quit()
	return parallel.Do(ctx, len(parts), writers, func(ctx context.Context, i int) error {
		return c.writer.Write(ctx, messagesOf(parts[i]))
	})
}

// rewind has records fetched again that were not written, where their partitions stay here.
func (c *Consumer) rewind(parts []kgo.FetchTopicPartition) {
	to := map[string]map[int32]kgo.EpochOffset{}
	for _, p := range parts {
		if to[p.Topic] == nil {
			to[p.Topic] = map[int32]kgo.EpochOffset{}
		}
		first := p.Records[0]
		to[p.Topic][p.Partition] = kgo.EpochOffset{Epoch: first.LeaderEpoch, Offset: first.Offset}
	}
	c.client.SetOffsets(to)
}

// messagesOf returns the records of a partition but for tombstones, which have no value: they
// delete what a compacted topic has of a key.
func messagesOf(p kgo.FetchTopicPartition) []mapping.Message {
	all := make([]mapping.Message, 0, len(p.Records))
	place := fmt.Sprintf("%s/%d/", p.Topic, p.Partition)
	for _, r := range p.Records {
		if r.Value == nil {
			continue
		}
		var headers map[string]string
		if len(r.Headers) > 0 {
			headers = make(map[string]string, len(r.Headers))
		}
		for _, h := range r.Headers {
			headers[h.Key] = string(h.Value)
		}
		all = append(all, mapping.Message{
			Place: place + strconv.FormatInt(r.Offset, 10), Topic: r.Topic, Key: string(r.Key),
			Headers: headers, Value: r.Value, Time: timeOf(r),
		})
	}
	return all
}

// timeOf is the record's timestamp, which has milliseconds, and its offset modulo 1,000 as
// microseconds: two records of a millisecond have different times, unless there are a thousand
// others between them. A record without a timestamp gets one that no entry may have, so that what
// names no time is refused. It can't be the time of arrival, which changes when it is read again.
func timeOf(r *kgo.Record) andon.Time {
	return max(1, andon.Time(r.Timestamp.UnixMilli()*1000+r.Offset%1000))
}

// Behind is how many records of its partitions the consumer has not kept yet, as of when it last
// fetched some of them.
func (c *Consumer) Behind() (sum int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.behind {
		sum += n
	}
	return sum
}

func (c *Consumer) setBehind(p kgo.FetchTopicPartition, next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind[fmt.Sprint(p.Topic, p.Partition)] = p.HighWatermark - next
}

// fetchFailed looks at what a fetch has instead of records. The client tries again by itself, but
// for a topic that was deleted and made again.
func (c *Consumer) fetchFailed(topic string, err error) {
	switch {
	case errors.Is(err, context.Canceled):
	case topic == "":
		c.Failures.Note("group", err)
	case errors.Is(err, kerr.UnknownTopicID):
		c.Failures.Note("topic "+topic, err)
		c.client.PurgeTopicsFromConsuming(topic)
		c.client.AddConsumeTopics(topic)
	case !kerr.IsRetriable(err) || errors.Is(err, kerr.UnknownTopicOrPartition):
		c.Failures.Note("topic "+topic, err)
	}
}

// OnBrokerConnect is called by the client after each attempt.
func (c *Consumer) OnBrokerConnect(
	to kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error,
) {
	if !errors.Is(err, context.Canceled) {
		c.Failures.Note(fmt.Sprintf("broker %s:%d", to.Host, to.Port), err)
	}
}
