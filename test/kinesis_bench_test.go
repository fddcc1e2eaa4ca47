package test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
)

// BenchmarkKinesis reads a stream of 100,000 entries, 25 in a record, from its start: by a reader
// that only counts, which is the ceiling, and by a server on Pebble. Both are limited by
// kinesalite, so what an entry costs in CPU says more than the rate.
func BenchmarkKinesis(b *testing.B) {
	s := newKinesis(b, "", 4)
	const entries = 100_000
	for range 20 {
		s.put(entries / devicesInStream / 20)
	}
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			if got := s.count(b); got != entries/entriesInRecord {
				b.Fatalf("%d records", got)
			}
		}
		b.ReportMetric(entries*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	})
	b.Run("andon", func(b *testing.B) {
		var cpu time.Duration
		memory := 0
		for b.Loop() {
			server := s.read(s.settings(""), "--store", "pebble", "--data", b.TempDir())
			s.readTo(b, server)
			cpu += enginetest.CPUTime(server.cmd.Process.Pid)
			memory = max(memory, server.mostMemory(b))
		}
		b.ReportMetric(entries*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
		b.ReportMetric(float64(cpu.Microseconds())/entries/float64(b.N), "CPU-µs/entry")
		b.ReportMetric(float64(memory)/(1<<20), "MB")
	})
}

// readTo waits until a server has what was sent last.
func (s *kinesisStream) readTo(b *testing.B, server *server) {
	b.Helper()
	c, err := client.New(client.Options{URL: server.url, Attempts: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for device := range devicesInStream {
		w := s.writerOf(device)
		for {
			d, err := c.Device(b.Context(), w.device)
			if err == nil && d.Time == w.event(w.sent-1).Time {
				break
			}
			<-time.After(5 * time.Millisecond)
		}
	}
}

// count reads all shards concurrently, and counts the records.
func (s *kinesisStream) count(b *testing.B) int64 {
	b.Helper()
	var all sync.WaitGroup
	var records atomic.Int64
	for _, shard := range s.active(4) {
		all.Go(func() {
			n, err := s.countShard(b.Context(), shard.ShardId)
			if records.Add(n); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	return records.Load()
}

func (s *kinesisStream) countShard(ctx context.Context, shard *string) (n int64, err error) {
	at, err := s.sdk.GetShardIterator(ctx, &kinesis.GetShardIteratorInput{
		StreamName: aws.String(streamName), ShardId: shard,
		ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		return 0, err
	}
	for next := at.ShardIterator; ; {
		out, err := s.sdk.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: next})
		if err != nil || len(out.Records) == 0 {
			return n, err
		}
		n, next = n+int64(len(out.Records)), out.NextShardIterator
	}
}
