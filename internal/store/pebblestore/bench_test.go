package pebblestore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// The benchmarks write what a fleet of 100,000 devices sends: each reports in turn, every five minutes,
// one in twenty in a warning. The ceiling is raw Pebble with the same options, one key an event and as
// many bytes: what a store can't pass. Compare within one run only.
const (
	benchDevices = 100_000
	benchBatch   = 1_000
	benchBase    = andon.Time(1_764_806_400_000_000) // 2025-12-04T00:00:00Z
	benchRound   = andon.Time(300_000_000)
)

var benchNames = func() []andon.DeviceID {
	names := make([]andon.DeviceID, benchDevices)
	for i := range names {
		names[i] = andon.DeviceID(fmt.Sprintf("line-%02d/press-%05d", i/5000, i))
	}
	return names
}()

// benchEvents returns the n-th batch: the devices of one request report at once.
func benchEvents(n, size int) []andon.Event {
	events := make([]andon.Event, size)
	for i := range events {
		at := n*size + i
		device, round := at%benchDevices, at/benchDevices
		e := andon.Event{
			Device: benchNames[device], State: "NORMAL", Operator: "Liz",
			Time:       benchBase + andon.Time(round)*benchRound + andon.Time(device),
			Attributes: `{"line":"L3","temperature":71.5}`,
		}
		if (device+round)%20 == 0 {
			e.State, e.Message = "WARNING2", "overheat"
		}
		events[i] = e
	}
	return events
}

func benchStore(b *testing.B) *Store {
	s, err := Open(b.TempDir(), Options{Fatal: func(err error) { b.Error(err) }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// perSecond runs write with rising numbers from many goroutines and reports events a second.
func perSecond(b *testing.B, writers, events int, write func(n int) error) {
	var next atomic.Int64
	var running sync.WaitGroup
	b.ResetTimer()
	for range writers {
		running.Go(func() {
			for n := int(next.Add(1)) - 1; n < b.N; n = int(next.Add(1)) - 1 {
				if err := write(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	b.ReportMetric(float64(b.N*events)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct{ writers, events int }{{4, benchBatch}, {64, 1}} {
		name := fmt.Sprintf("%d_writers_of_%d", c.writers, c.events)
		b.Run("ceiling/"+name, func(b *testing.B) { ceiling(b, c.writers, c.events) })
		b.Run("andon/"+name, func(b *testing.B) {
			s := benchStore(b)
			perSecond(b, c.writers, c.events, func(n int) error {
				return s.Append(context.Background(), andon.DefaultTenant, benchBase, benchEvents(n, c.events))
			})
		})
	}
}

func ceiling(b *testing.B, writers, size int) {
	o := Options{}
	o.complete()
	db, err := pebble.Open(b.TempDir(), pebbleOptions(&o))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	perSecond(b, writers, size, func(n int) error {
		batch := db.NewBatch()
		defer batch.Close()
		if err := encodeEvents(batch, 1, benchEvents(n, size)); err != nil {
			return err
		}
		return batch.Commit(pebble.Sync)
	})
}

func BenchmarkKeyCodec(b *testing.B) {
	k := newKey(tableEvent, 1)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			k = k.begin(tableEvent, 1).event("line-03/press-00017", benchBase, "WARNING2")
		}
	})
	b.Run("decode", func(b *testing.B) {
		rest := k[1+4+4:]
		for b.Loop() {
			_, tail, _ := takeText(rest)
			if _, _, _, ok := splitState(tail); !ok {
				b.Fatal("not an event's key")
			}
		}
	})
}

// filled returns a store that 100,000 devices reported to for an hour.
var filled = sync.OnceValue(func() *Store {
	s, err := Open("", Options{FS: vfs.NewMem()})
	if err != nil {
		panic(err)
	}
	for n := range benchDevices / benchBatch * 12 {
		if err := s.Append(context.Background(), andon.DefaultTenant, benchBase, benchEvents(n, benchBatch)); err != nil {
			panic(err)
		}
	}
	e := andon.Escalation{Device: benchNames[0], Time: benchBase, State: "WARNING2", At: benchBase + 1, To: "Sara"}
	if _, err := s.Escalate(context.Background(), andon.DefaultTenant, e); err != nil {
		panic(err)
	}
	for n := range benchDevices / benchBatch {
		if err := s.AppendReadings(context.Background(), andon.DefaultTenant, benchBase, benchReadings(n)); err != nil {
			panic(err)
		}
	}
	return s
})

func benchReadings(n int) []andon.Reading {
	readings := make([]andon.Reading, benchBatch)
	for i := range readings {
		readings[i] = andon.Reading{
			Device: benchNames[n*benchBatch+i], Time: benchBase + andon.Time(i),
			Metrics: andon.Metrics{{Name: "humidity", Value: 40}, {Name: "temperature", Value: 71.5}},
		}
	}
	return readings
}

func BenchmarkQuery(b *testing.B) {
	s, ctx, id := filled(), context.Background(), andon.DefaultTenant
	warnings, _ := andon.ParseStateFilter("WARNING*")
	hour := andon.Span{From: benchBase, To: benchBase + 3_599_999_999}
	count := func(b *testing.B, want int, query func() int) {
		for b.Loop() {
			if got := query(); got != want {
				b.Fatalf("%d results, want %d", got, want)
			}
		}
	}
	events := func(q andon.EventQuery) func() int {
		return func() (n int) {
			for _, err := range s.DeviceEvents(ctx, id, benchNames[7], q) {
				must(b, err)
				n++
			}
			return n
		}
	}
	b.Run("device_last_10", func(b *testing.B) { count(b, 10, events(andon.EventQuery{Limit: 10})) })
	b.Run("device_warnings", func(b *testing.B) {
		count(b, 0, events(andon.EventQuery{States: warnings, Limit: 100}))
	})
	b.Run("entry", func(b *testing.B) {
		count(b, 1, func() int {
			_, err := s.Entry(ctx, id, benchNames[0], benchBase, "WARNING2")
			must(b, err)
			return 1
		})
	})
	b.Run("operator_hour_first_100_of_1200000", func(b *testing.B) {
		count(b, 100, func() (n int) {
			for _, err := range s.OperatorEvents(ctx, id, "Liz", andon.EventQuery{Span: hour, Limit: 100}) {
				must(b, err)
				n++
			}
			return n
		})
	})
	b.Run("supervisor", func(b *testing.B) {
		count(b, 1, func() (n int) {
			for _, err := range s.SupervisorEvents(ctx, id, "Sara", andon.EventQuery{Limit: 100}) {
				must(b, err)
				n++
			}
			return n
		})
	})
	b.Run("devices_in_state_first_100", func(b *testing.B) {
		q := andon.DeviceQuery{States: andon.OnlyStates("WARNING2"), Limit: 100}
		count(b, 100, func() int { return countDevicesOf(b, s, q) })
	})
	b.Run("devices_by_since_first_100", func(b *testing.B) {
		q := andon.DeviceQuery{States: andon.OnlyStates("WARNING2"), Sort: andon.BySince, Limit: 100}
		count(b, 100, func() int { return countDevicesOf(b, s, q) })
	})
	b.Run("counts", func(b *testing.B) {
		count(b, 2, func() int {
			counts, err := s.Counts(ctx, id)
			must(b, err)
			return len(counts)
		})
	})
	b.Run("device", func(b *testing.B) {
		count(b, 1, func() int {
			_, err := s.Device(ctx, id, benchNames[7])
			must(b, err)
			return 1
		})
	})
	b.Run("latest_readings_of_100", func(b *testing.B) {
		count(b, 100, func() int {
			latest, err := s.LatestReadings(ctx, id, benchNames[:100], 0)
			must(b, err)
			return len(latest)
		})
	})
	b.Run("metric_across_devices_first_100", func(b *testing.B) {
		count(b, 100, func() (n int) {
			q := andon.MetricQuery{Metric: "temperature", Limit: 100}
			for _, err := range s.MetricReadings(ctx, id, q) {
				must(b, err)
				n++
			}
			return n
		})
	})
}

func countDevicesOf(b *testing.B, s *Store, q andon.DeviceQuery) (n int) {
	for _, err := range s.Devices(context.Background(), andon.DefaultTenant, q) {
		must(b, err)
		n++
	}
	return n
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkRecord(b *testing.B) {
	b.Run("replay_1000_devices", func(b *testing.B) {
		s := benchStore(b)
		if err := s.Append(context.Background(), andon.DefaultTenant, benchBase, benchEvents(0, benchBatch)); err != nil {
			b.Fatal(err)
		}
		record, err := s.get(recordKey(s.order.next - 1))
		must(b, err)
		t := s.tenants[andon.DefaultTenant]
		b.SetBytes(int64(len(record)))
		for b.Loop() {
			r := &rebuilding{tenant: t}
			must(b, replay(map[uint32]*rebuilding{t.number: r}, record))
		}
	})
}
