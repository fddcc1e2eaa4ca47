package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/checkpoint"
	"github.com/andonhq/andon/internal/store/pebblestore/directory"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/rawpebble"
)

// The benchmarks write what a fleet of 100,000 devices sends: each reports in turn, every five
// minutes, one in twenty in a warning. The ceiling is raw Pebble with the same options, one key an
// event and as many bytes: what a store can't pass. Compare within one run only.
const (
	benchDevices = 100_000
	benchBatch   = 1_000
	benchOfAnn   = 1_000                             // devices; the others are Liz's
	benchBase    = andon.Time(1_764_806_400_000_000) // 2025-12-04T00:00:00Z
	benchRound   = andon.Time(300_000_000)
	benchApart   = andon.Time(2_000) // one device after the other
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
			Time:       benchBase + andon.Time(round)*benchRound + andon.Time(device)*benchApart,
			Attributes: `{"line":"L3","temperature":71.5}`,
		}
		if device < benchOfAnn {
			e.Operator = "Ann"
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
				events := benchEvents(n, c.events)
				return s.Append(context.Background(), andon.DefaultTenant, benchBase, events)
			})
		})
	}
}

func ceiling(b *testing.B, writers, size int) {
	o := Options{}
	o.complete()
	db, err := pebble.Open(b.TempDir(), directory.New(o.directory("")).Options())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	perSecond(b, writers, size, func(n int) error {
		return rawpebble.Put(db, benchEvents(n, size))
	})
}

// BenchmarkAppendLate appends entries that split the present run of their device, so that each
// looks up its neighbour in the log: the costliest there are. The first 100 batches split; run it
// with 100x.
func BenchmarkAppendLate(b *testing.B) {
	s := benchStore(b)
	write := func(n int, at andon.Time, state andon.State) error {
		events := benchEvents(n%(benchDevices/benchBatch), benchBatch)
		for i := range events {
			events[i].Time, events[i].State = benchBase+at, state
		}
		return s.Append(context.Background(), andon.DefaultTenant, benchBase, events)
	}
	for n := range benchDevices / benchBatch {
		must(b, write(n, 0, "WARNING2"))
		must(b, write(n, 3_600_000_000, "WARNING2"))
	}
	perSecond(b, 4, benchBatch, func(n int) error {
		return write(n, 1+andon.Time(n), "NORMAL")
	})
}

// filled returns a store that 100,000 devices reported to for an hour.
var filled = sync.OnceValue(func() *Store {
	s, err := Open("", Options{FS: vfs.NewMem()})
	if err != nil {
		panic(err)
	}
	ctx, id := context.Background(), andon.DefaultTenant
	for n := range benchDevices / benchBatch * 12 {
		if err := s.Append(ctx, id, benchBase, benchEvents(n, benchBatch)); err != nil {
			panic(err)
		}
	}
	e := andon.Escalation{
		Device: benchNames[0], Time: benchBase, State: "WARNING2", At: benchBase + 1, To: "Sara",
	}
	if _, _, err := s.Escalate(ctx, id, e); err != nil {
		panic(err)
	}
	liz := []andon.Assignment{{Device: benchNames[7], Operator: "Liz"}}
	if _, err := s.Assign(context.Background(), andon.DefaultTenant, benchBase, liz); err != nil {
		panic(err)
	}
	for n := range benchDevices / benchBatch {
		if err := s.AppendReadings(ctx, id, benchBase, benchReadings(n)); err != nil {
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
			Metrics: andon.Metrics{
				{Name: "humidity", Value: 40}, {Name: "temperature", Value: 71.5},
			},
		}
	}
	return readings
}

// queried is what each query is asked of.
type queried struct {
	*Store
	context.Context
	b *testing.B
}

func (q queried) events(seq iter.Seq2[andon.Event, error]) (n int) { return count(q.b, seq) }

func count[T any](b *testing.B, seq iter.Seq2[T, error]) (n int) {
	for _, err := range seq {
		must(b, err)
		n++
	}
	return n
}

// benchHour is the hour that the fleet reports in.
var benchHour = andon.Span{From: benchBase, To: benchBase + 3_599_999_999}

// benchQuery is one query, and how many answers it has.
type benchQuery struct {
	name  string
	query func(queried) int
}

// BenchmarkQuery runs each query on a fleet that reported for an hour, all to one operator.
func BenchmarkQuery(b *testing.B) {
	for _, c := range append(logQueries(), fleetQueries()...) {
		b.Run(c.name, func(b *testing.B) {
			q, n := queried{filled(), context.Background(), b}, 0
			for b.Loop() {
				n = c.query(q)
			}
			b.ReportMetric(float64(n), "answers")
		})
	}
}

func logQueries() []benchQuery {
	const id = andon.DefaultTenant
	device := benchNames[7]
	states, _ := andon.ParseStateFilter("WARNING*")
	warnings := andon.EventQuery{States: states, Limit: 100}
	hour := andon.EventQuery{Span: benchHour, Limit: 100}
	return []benchQuery{
		{"device_last_10", func(q queried) int {
			return q.events(q.DeviceEvents(q, id, device, andon.EventQuery{Limit: 10}))
		}},
		{"device_warnings", func(q queried) int {
			return q.events(q.DeviceEvents(q, id, device, warnings))
		}},
		{"entry", func(q queried) int {
			_, err := q.Entry(q, id, benchNames[0], benchBase, "WARNING2")
			must(q.b, err)
			return 1
		}},
		{"operator_hour_first_100_of_1188000", func(q queried) int {
			return q.events(q.OperatorEvents(q, id, "Liz", hour))
		}},
		{"operator_hour_first_100_of_12000", func(q queried) int {
			return q.events(q.OperatorEvents(q, id, "Ann", hour))
		}},
		{"supervisor", func(q queried) int {
			return q.events(q.SupervisorEvents(q, id, "Sara", andon.EventQuery{Limit: 100}))
		}},
	}
}

func fleetQueries() []benchQuery {
	const id = andon.DefaultTenant
	device := benchNames[7]
	warning2, _ := andon.ParseStateFilter("WARNING2")
	inState := andon.DeviceQuery{States: warning2, Limit: 100}
	longest, severest := inState, andon.DeviceQuery{Sort: andon.BySeverity, Limit: 100}
	longest.Sort = andon.BySince
	states := andon.DefaultStates()
	metric := andon.MetricQuery{Metric: "temperature", Limit: 100}
	return []benchQuery{
		{"devices_in_state_first_100", func(q queried) int {
			return count(q.b, q.Devices(q, id, inState))
		}},
		{"devices_by_since_first_100", func(q queried) int {
			return count(q.b, q.Devices(q, id, longest))
		}},
		{"devices_by_severity_first_100", func(q queried) int {
			return count(q.b, q.Devices(q, id, severest))
		}},
		{"intervals", func(q queried) int {
			runs := andon.EventQuery{Limit: 100}
			return count(q.b, andon.Intervals(q, q, id, states, device, runs))
		}},
		{"assignments", func(q queried) int {
			return count(q.b, q.Assignments(q, id, device, andon.PageQuery{Limit: 100}))
		}},
		{"readings_range", func(q queried) int {
			within := andon.ReadingQuery{Span: benchHour, Limit: 100}
			return count(q.b, q.DeviceReadings(q, id, device, within))
		}},
		{"counts", func(q queried) int {
			counts, err := q.Counts(q, id, 0)
			must(q.b, err)
			return len(counts)
		}},
		{"device", func(q queried) int {
			_, err := q.Device(q, id, device)
			must(q.b, err)
			return 1
		}},
		{"latest_readings_of_100", func(q queried) int {
			latest, err := q.LatestReadings(q, id, benchNames[:100], 0)
			must(q.b, err)
			return len(latest)
		}},
		{"metric_across_devices_first_100", func(q queried) int {
			return count(q.b, q.MetricReadings(q, id, metric))
		}},
	}
}

// measuredFleet returns a store with a day of readings, flushed many times: of 1,000 devices
// every 5 minutes, and of the first of them every 10 seconds.
var measuredFleet = sync.OnceValue(func() *Store {
	s, err := Open("", Options{FS: vfs.NewMem()})
	if err != nil {
		panic(err)
	}
	ctx, id, step := context.Background(), andon.DefaultTenant, andon.Duration(10_000_000)
	for n := range 8640 {
		readings := benchReadings(0)
		if n%30 != 0 {
			readings = readings[:1]
		}
		for i := range readings {
			r := &readings[i]
			r.Time = benchBase + andon.Time(n)*andon.Time(step) + andon.Time(i)*1000
			r.Metrics[1].Value = float64(650+(n*7+i)%100) / 10
		}
		err := s.AppendReadings(ctx, id, benchBase, readings)
		if n%288 == 0 {
			err = errors.Join(err, s.flushReadings())
		}
		if err != nil {
			panic(err)
		}
	}
	return s
})

// BenchmarkReadings asks for readings, and reports how long the slowest of a hundred answers took.
func BenchmarkReadings(b *testing.B) {
	const id = andon.DefaultTenant
	day := andon.Span{From: benchBase, To: benchBase + 86_399_999_999}
	for _, c := range []benchQuery{
		{"a_day_of_a_device", func(q queried) int {
			within := andon.ReadingQuery{Span: day, Order: andon.Asc, Limit: 10_000}
			return count(q.b, q.DeviceReadings(q, id, benchNames[0], within))
		}},
		{"a_day_of_one_metric", func(q queried) int {
			within := andon.ReadingQuery{
				Span: day, Limit: 10_000, Metrics: []andon.MetricName{"temperature"},
			}
			return count(q.b, q.DeviceReadings(q, id, benchNames[0], within))
		}},
		{"latest_of_a_device", func(q queried) int {
			return count(q.b, q.DeviceReadings(q, id, benchNames[0], andon.ReadingQuery{Limit: 1}))
		}},
		{"latest_of_1000_devices", func(q queried) int {
			latest, err := q.LatestReadings(q, id, benchNames[:1000], 0)
			must(q.b, err)
			return len(latest)
		}},
		{"one_metric_of_all_first_1000", func(q queried) int {
			metric := andon.MetricQuery{Metric: "temperature", Limit: 1000}
			return count(q.b, q.MetricReadings(q, id, metric))
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			q, n := queried{measuredFleet(), context.Background(), b}, 0
			var took []time.Duration
			for b.Loop() {
				begun := time.Now()
				n = c.query(q)
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(n), "answers")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

func must(b testing.TB, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkRecord(b *testing.B) {
	b.Run("replay_1000_devices", func(b *testing.B) {
		s := benchStore(b)
		events := benchEvents(0, benchBatch)
		must(b, s.Append(context.Background(), andon.DefaultTenant, benchBase, events))
		record, err := s.get(layout.RowKey(s.pipe.Next - 1))
		must(b, err)
		t := s.tenants[andon.DefaultTenant]
		b.SetBytes(int64(len(record)))
		for b.Loop() {
			row, err := layout.UnpackRow(nil, record)
			must(b, err)
			must(b, checkpoint.CheckRow(row, func(n uint32) bool { return n == t.number }))
		}
	})
}
