package cassandrastore

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/andonhq/andon"
)

var benchDevices = flag.Int("devices", 10_000, "how many devices BenchmarkDesigns has in one state")

// BenchmarkDesigns asks each design for the devices of one state, of which there are many, after a
// fifth as many left it: the first page, and all of them in the largest pages. What devices show is
// in memory, as it is for a process that is alone, so that only the designs differ; "reading each"
// is the first page as it is where other processes write.
//
//	go test -run '^$' -bench Designs -benchtime 5x ./internal/store/cassandrastore -devices 100000
func BenchmarkDesigns(b *testing.B) {
	for _, design := range Designs() {
		b.Run(design, func(b *testing.B) {
			o := newKeyspace(b, design)
			o.pace, o.Settle = usualPace, time.Hour // nothing goes on meanwhile
			s, other := open(b, o), open(b, o)      // which never writes, so it is never alone
			crowdState(b, s, *benchDevices, *benchDevices/5)
			filter, _ := andon.ParseStateFilter("WARNING2")
			for _, load := range []struct {
				name  string
				limit int // of the page
				pages int
				by    *Store
			}{
				{"reading each, first 1000", andon.MaxLimit, 1, other},
				{"first 100", 100, 1, s},
				{"first 1000", andon.MaxLimit, 1, s},
				{"all", andon.MaxLimit, *benchDevices / andon.MaxLimit, s},
			} {
				b.Run(load.name, func(b *testing.B) {
					ctx := b.Context()
					count := s.CountTombstones()
					before, _ := count.Tombstones(ctx)
					for b.Loop() {
						readPages(ctx, b, load.by, filter, load.limit, load.pages)
					}
					after, _ := count.Tombstones(ctx)
					b.ReportMetric(float64(after-before)/float64(b.N), "tombstones/op")
				})
			}
		})
	}
}

func readPages(
	ctx context.Context, b *testing.B, s *Store, filter andon.StateFilter, limit, pages int,
) {
	q := andon.DeviceQuery{States: filter, Limit: limit}
	for range pages {
		read := 0
		for d, err := range s.Devices(ctx, andon.DefaultTenant, q) {
			if err != nil {
				b.Fatal(err)
			}
			read++
			q.After = new(d.Position())
		}
		if read != limit {
			b.Fatalf("a page has %d devices, not %d", read, limit)
		}
	}
}

// crowdState puts devices into one state, and as many as left into it and out again, as settled
// long ago.
func crowdState(b *testing.B, s *Store, in, left int) {
	b.Helper()
	ctx, at := b.Context(), realClock()-3_600_000_000
	t, err := s.tenant(ctx, andon.DefaultTenant)
	if err != nil {
		b.Fatal(err)
	}
	var events []andon.Event
	for i := range in + left {
		id := andon.DeviceID(fmt.Sprintf("device-%07d", i))
		events = append(events, andon.Event{Device: id, State: "WARNING2", Time: at})
	}
	for i := range in + left {
		if i%6 == 5 { // one of six, which are left of in+left
			e := events[i]
			e.State, e.Time = "NORMAL", at+1_000_000
			events = append(events, e)
		}
	}
	for part := range slices.Chunk(events, 20_000) {
		if err := s.Append(ctx, andon.DefaultTenant, at, part); err != nil {
			b.Fatal(err)
		}
	}
	var marks []mutation
	d := s.working.Load().reads
	for i := range in + left {
		id := andon.DeviceID(fmt.Sprintf("device-%07d", i))
		if i%6 == 5 {
			p := place{tenant: t.key, device: string(id), state: "WARNING2", at: at + 999_999}
			marks = append(marks, d.leave(p)...)
			continue
		}
		m := newMark{mark: mark{first: at, settled: true}, write: true}
		marks = append(marks, s.marks(t.key, id, m, m))
	}
	for part := range slices.Chunk(marks, 20_000) {
		if err := s.write(ctx, part); err != nil {
			b.Fatal(err)
		}
	}
	s.devices = newDevices() // so that settled marks are read
	if err := s.mayWrite(ctx); err != nil {
		b.Fatal(err)
	}
	for s.processes.alone(s.processes.now()) == 0 {
		<-time.After(10 * time.Millisecond)
	}
}
