package kinesis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/source"
)

// stream is a stream in memory, whose calls can go wrong. It answers a few records at a time.
type stream struct {
	mu     sync.Mutex
	shards []*shard
	calls  int
	base   int                  // sequence number of the first record of each shard
	fault  func(call int) error // of read; nil: none
}

type shard struct {
	types.Shard
	records []types.Record
	closed  bool
}

func newStream(shards int) *stream {
	s := &stream{}
	for range shards {
		s.add()
	}
	return s
}

// add adds a shard with parents.
func (s *stream) add(parents ...*shard) *shard {
	child := &shard{Shard: types.Shard{
		ShardId: aws.String(fmt.Sprintf("shard-%d", len(s.shards))),
		SequenceNumberRange: &types.SequenceNumberRange{
			StartingSequenceNumber: aws.String(strconv.Itoa(s.base)),
		},
	}}
	for i, p := range parents {
		if p.closed = true; i == 0 {
			child.ParentShardId = p.ShardId
		} else {
			child.AdjacentParentShardId = p.ShardId
		}
	}
	s.shards = append(s.shards, child)
	return child
}

// put puts n records into a shard, several in each millisecond.
func (s *stream) put(to *shard, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(to, n)
}

// putLocked is put for who holds the lock.
func (s *stream) putLocked(to *shard, n int) {
	for range n {
		i := len(to.records)
		arrival := time.Now().Truncate(time.Millisecond)
		to.records = append(to.records, types.Record{
			Data:           fmt.Appendf(nil, "%s/%d", *to.ShardId, i),
			SequenceNumber: aws.String(strconv.Itoa(s.base + i)), PartitionKey: aws.String("key"),
			ApproximateArrivalTimestamp: &arrival,
		})
	}
}

func (s *stream) list(
	_ context.Context, in *kinesis.ListShardsInput, _ ...func(*kinesis.Options),
) (*kinesis.ListShardsOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, _ := strconv.Atoi(aws.ToString(in.NextToken))
	out := &kinesis.ListShardsOutput{}
	for i := from; i < len(s.shards); i++ {
		if len(out.Shards) == 2 { // a page
			out.NextToken = aws.String(strconv.Itoa(i))
			break
		}
		out.Shards = append(out.Shards, s.shards[i].Shard)
	}
	return out, nil
}

func (s *stream) find(id string) *shard {
	for _, one := range s.shards {
		if *one.ShardId == id {
			return one
		}
	}
	return nil
}

func (s *stream) iterator(
	_ context.Context, in *kinesis.GetShardIteratorInput, _ ...func(*kinesis.Options),
) (*kinesis.GetShardIteratorOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, i := s.find(*in.ShardId), 0
	if of == nil {
		return nil, &types.ResourceNotFoundException{}
	}
	switch in.ShardIteratorType {
	case types.ShardIteratorTypeAfterSequenceNumber:
		i, _ = strconv.Atoi(*in.StartingSequenceNumber)
		if i -= s.base - 1; i < 1 {
			return nil, &types.InvalidArgumentException{}
		}
	case types.ShardIteratorTypeAtTimestamp:
		for i < len(of.records) && of.records[i].ApproximateArrivalTimestamp.Before(*in.Timestamp) {
			i++
		}
	}
	return &kinesis.GetShardIteratorOutput{
		ShardIterator: aws.String(*in.ShardId + ":" + strconv.Itoa(i)),
	}, nil
}

func (s *stream) read(
	_ context.Context, in *kinesis.GetRecordsInput, _ ...func(*kinesis.Options),
) (*kinesis.GetRecordsOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.fault != nil {
		if err := s.fault(s.calls); err != nil {
			return nil, err
		}
	}
	id, text, _ := strings.Cut(*in.ShardIterator, ":")
	from, _ := strconv.Atoi(text)
	of := s.find(id)
	if of == nil || from > len(of.records) {
		return nil, &types.ExpiredIteratorException{}
	}
	to := min(from+3, len(of.records))
	out := &kinesis.GetRecordsOutput{
		Records:            of.records[from:to],
		MillisBehindLatest: aws.Int64(int64(len(of.records)-to) * 1000),
		NextShardIterator:  aws.String(id + ":" + strconv.Itoa(to)),
	}
	if of.closed && to == len(of.records) {
		out.NextShardIterator = nil
	}
	return out, nil
}

// called returns how often records were asked for.
func (s *stream) called() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// kept is a Writer that keeps messages in memory.
type kept struct {
	t  *testing.T
	mu sync.Mutex

	order  []string // of what is new
	first  map[string]mapping.Message
	again  int
	refuse func(n int) error // of the n-th call; nil: none
	writes int
}

func (k *kept) Write(ctx context.Context, messages []mapping.Message) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.writes++; k.refuse != nil {
		if err := k.refuse(k.writes); err != nil {
			return err
		}
	}
	for i := range messages {
		m := &messages[i]
		before, is := k.first[m.Place]
		switch {
		case !is:
			k.first[m.Place] = *m
			k.order = append(k.order, string(m.Value))
		case before.Time != m.Time || before.Key != m.Key || !bytes.Equal(before.Value, m.Value):
			k.t.Errorf("%s was %+v, and is %+v", m.Place, before, m)
		default:
			k.again++
		}
	}
	return ctx.Err()
}

// check compares what was kept with a stream: each record once, in the order of its shard, with a
// time of its own.
func (k *kept) check(s *stream) {
	k.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	next, all := map[string]int{}, 0
	for _, value := range k.order {
		id, text, _ := strings.Cut(value, "/")
		if strconv.Itoa(next[id]) != text {
			k.t.Fatalf("%s comes after %d of its shard", value, next[id])
		}
		next[id]++
	}
	for _, one := range s.shards {
		if all += len(one.records); next[*one.ShardId] != len(one.records) {
			k.t.Errorf("%d of %d records of %s are kept", next[*one.ShardId], len(one.records),
				*one.ShardId)
		}
	}
	times := map[string]bool{}
	for place, m := range k.first {
		id := strings.Split(place, "/")[1] + m.Time.String()
		if times[id] {
			k.t.Errorf("two messages of a shard have the time %s", m.Time)
		}
		times[id] = true
	}
	if all == 0 {
		k.t.Error("the stream is empty")
	}
}

// reader makes a consumer of a stream.
func reader(s *stream, k *kept, records andon.Records, owner string) *Consumer {
	return &Consumer{
		Source: Source{Config: source.Config{Name: "n"}, Stream: "s", Start: oldest}, Writer: k,
		api:    api{s.list, s.iterator, s.read},
		Leases: &lease.Holder{Records: records, Owner: owner, For: 12 * time.Second},
		Now:    func() andon.Time { return andon.TimeOf(time.Now()) },
		Log:    slog.New(slog.DiscardHandler),
	}
}

func keeper(t *testing.T) *kept { return &kept{t: t, first: map[string]mapping.Message{}} }

var errAway = errors.New("no answer")
