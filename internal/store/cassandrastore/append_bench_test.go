package cassandrastore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
)

// appendFleet is how many devices report.
const appendFleet = 20_000

// appendLoad is one way to write.
type appendLoad struct {
	name                     string
	writers, devices, rounds int
}

// BenchmarkAppend writes what a fleet reports in three ways: as Andon, as the driver alone that
// sends the same statements, and as the driver alone that writes one row an event and nothing else.
// On a node of its own it says what processor time of the engine an event takes.
//
//	ANDON_ENGINES=1 go test -run '^$' -bench Append/buckets -benchtime 4s \
//		./internal/store/cassandrastore
func BenchmarkAppend(b *testing.B) {
	for _, design := range designs.Names() {
		b.Run(design, func(b *testing.B) {
			for _, l := range []appendLoad{
				{"1 event by 64", 64, 1, 1},
				{"1000 events of 10 devices by 4", 4, 10, 100},
				{"1000 events of 1000 devices by 4", 4, 1000, 1},
			} {
				b.Run(l.name, func(b *testing.B) { l.compare(b, design) })
			}
		})
	}
}

func (l appendLoad) compare(b *testing.B, design string) {
	sent := &sent{statements: map[string]int{}}
	o := newKeyspace(b, design)
	o.pace, o.Observe = merge.UsualPace(), sent
	s, driver := open(b, o), newBaseline(b, design)
	for _, w := range []*way{
		{name: "andon", sent: sent, write: func(ctx context.Context, e []andon.Event) error {
			return s.Append(ctx, andon.DefaultTenant, realClock(), e)
		}},
		{name: "same statements", write: func(ctx context.Context, e []andon.Event) error {
			return driver.keep(ctx, realClock(), e)
		}},
		{name: "one insert", write: s.insert},
	} {
		w.fill(b)
		before, err := s.size(b.Context())
		b.Run(w.name, func(b *testing.B) { w.run(b, l) })
		after, failed := s.size(b.Context())
		if events := w.next.Load() * int64(l.devices*l.rounds); w.sent != nil && events > 0 {
			b.Logf("%d bytes an event, %v", (after-before)/events, errors.Join(err, failed))
		}
	}
}

// way is one of those who write.
type way struct {
	name  string
	sent  *sent // nil: what is sent is not counted
	write func(context.Context, []andon.Event) error
	next  atomic.Int64 // request
}

// past is how many rounds the fleet has reported before anything is measured: what is new at first
// is not what is measured.
const past = 2

func (w *way) fill(b *testing.B) {
	b.Helper()
	l := appendLoad{devices: 1000, rounds: 1}
	for n := range int64(past * appendFleet / l.devices) {
		if err := w.write(b.Context(), l.events(n, 0)); err != nil {
			b.Fatal(err)
		}
	}
}

// run writes with all writers and reports what that came to.
func (w *way) run(b *testing.B, l appendLoad) {
	b.SetParallelism(max(l.writers/runtime.GOMAXPROCS(0), 1))
	w.sent.reset()
	cpu := enginetest.Cassandra(b).CPUTime()
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if err := w.write(b.Context(), l.events(w.next.Add(1)-1, past)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	events := float64(b.N * l.devices * l.rounds)
	b.ReportMetric(events/b.Elapsed().Seconds(), "events/s")
	if cpu > 0 {
		spent := enginetest.Cassandra(b).CPUTime() - cpu
		b.ReportMetric(float64(spent.Microseconds())/events, "engine-µs/event")
	}
	w.sent.report(b, events)
}

// events returns what is reported in the n-th request after so many rounds: one report in twenty
// is a warning.
func (l appendLoad) events(n int64, after int) []andon.Event {
	groups := int64(appendFleet / l.devices)
	first, begin := int(n%groups)*l.devices, after+int(n/groups)*l.rounds
	all := make([]andon.Event, 0, l.devices*l.rounds)
	for device := first; device < first+l.devices; device++ {
		for round := begin; round < begin+l.rounds; round++ {
			e := andon.Event{
				Device:     andon.DeviceID(fmt.Sprintf("line-%02d/press-%07d", device%40, device)),
				Time:       andon.Time(1_764_806_400_000_000 + round*300_000_000 + device),
				State:      "NORMAL",
				Operator:   andon.PersonID(fmt.Sprintf("operator-%04d", device/1000)),
				Attributes: `{"line":"L7","temperature":71.3}`,
			}
			if (device+round)%20 == 0 {
				e.State, e.Message = "WARNING1", "overheat"
			}
			all = append(all, e)
		}
	}
	return all
}

// sent counts what a session sends. Nil counts nothing.
type sent struct {
	mu         sync.Mutex
	requests   int
	statements map[string]int
}

// ObserveQuery implements cql.Observer.
func (s *sent) ObserveQuery(_ context.Context, q cql.ObservedQuery) { s.add(q.Statement) }

// ObserveBatch implements cql.Observer.
func (s *sent) ObserveBatch(_ context.Context, b cql.ObservedBatch) { s.add(b.Statements...) }

func (s *sent) add(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	for _, text := range texts {
		s.statements[inShort(text)]++
	}
}

func (s *sent) reset() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = 0
	clear(s.statements)
}

// report reports what was sent for an event; what was sent for fewer than one of a thousand is left
// out.
func (s *sent) report(b *testing.B, events float64) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.ReportMetric(float64(s.requests)/events, "requests/event")
	for what, n := range s.statements {
		if each := float64(n) / events; each >= 0.001 {
			b.ReportMetric(each, what+"/event")
		}
	}
}

// inShort is what a statement does, and to which table: "INSERT:events_by_device".
func inShort(text string) string {
	words := strings.Fields(text)
	for i, word := range words[:len(words)-1] {
		switch word {
		case "FROM", "INTO", "UPDATE":
			return words[0] + ":" + words[i+1]
		}
	}
	return words[0]
}
