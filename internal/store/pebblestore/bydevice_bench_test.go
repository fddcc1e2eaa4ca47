package pebblestore

import (
	"context"
	"iter"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bydevice"
	"github.com/andonhq/andon/internal/store/pebblestore/directory"
	"github.com/andonhq/andon/internal/store/pebblestore/rawpebble"
)

// BenchmarkByDevice reads what 100,000 devices sent in a day, 12 entries and 12 readings each, from
// the disk, next to the list by time that a store has of entries, and to raw Pebble that scans as
// many keys. It reports rows a second, and the largest heap seen.
func BenchmarkByDevice(b *testing.B) {
	s := benchStore(b)
	ctx, id := context.Background(), andon.DefaultTenant
	const rounds = 12
	for n := range benchDevices / benchBatch * rounds {
		must(b, s.Append(ctx, id, benchBase, benchEvents(n, benchBatch)))
		readings := benchReadings(n % (benchDevices / benchBatch))
		for i := range readings {
			readings[i].Time += andon.Time(n/(benchDevices/benchBatch)) * benchRound
		}
		must(b, s.AppendReadings(ctx, id, benchBase, readings))
		if n%400 == 399 {
			must(b, s.flushDue())
			must(b, s.flushReadings())
		}
	}
	must(b, Checkpoint(s))
	day := bydevice.Query{Span: andon.Span{From: benchBase, To: benchBase + 86_399_999_999}}
	const rows = benchDevices * rounds
	b.Run("events", func(b *testing.B) {
		readAll(b, rows, bydevice.Events(ctx, s, id, day))
	})
	b.Run("events_by_time", func(b *testing.B) {
		q := andon.EventQuery{Span: day.Span, Order: andon.Asc, Limit: 2 * rows}
		readAll(b, rows, s.TenantEvents(ctx, id, q))
	})
	b.Run("readings", func(b *testing.B) {
		readAll(b, rows, bydevice.Readings(ctx, s, id, day))
	})
	b.Run("raw", func(b *testing.B) { scanRaw(b, rows) })
}

// readAll reads a list again and again.
func readAll[T any](b *testing.B, rows int, all iter.Seq2[T, error]) {
	heap := watchHeap(b)
	for b.Loop() {
		if n := count(b, all); n != rows {
			b.Fatalf("%d rows, want %d", n, rows)
		}
	}
	b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(heap())/(1<<20), "heap-MiB")
}

// watchHeap looks at the heap until its result is called, which returns the largest that was seen.
func watchHeap(b *testing.B) func() uint64 {
	runtime.GC()
	var most atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapAlloc))
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-stopped
		return most.Load()
	}
}

// scanRaw reads as many keys of raw Pebble, one an entry.
func scanRaw(b *testing.B, rows int) {
	o := Options{}
	o.complete()
	db, err := pebble.Open(b.TempDir(), directory.New(o.directory("")).Options())
	must(b, err)
	b.Cleanup(func() { _ = db.Close() })
	for n := range rows / benchBatch {
		must(b, rawpebble.Put(db, benchEvents(n, benchBatch)))
	}
	must(b, db.Flush())
	readAll(b, rows, func(yield func(int, error) bool) {
		it, err := db.NewIter(nil)
		must(b, err)
		defer it.Close()
		for ok := it.First(); ok; ok = it.Next() {
			if value, err := it.ValueAndErr(); !yield(len(value), err) {
				return
			}
		}
	})
}
