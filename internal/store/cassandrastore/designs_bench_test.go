package cassandrastore

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
)

var benchDevices = flag.Int("devices", 10_000, "how many devices BenchmarkDesigns has in one state")

// BenchmarkDesigns asks each design for the devices of one state, of which there are many, after a
// fifth as many left it: the first page, and all of them in the largest pages. What devices show is
// in memory, as it is for a process that is alone, so that only the designs differ.
//
//	go test -run '^$' -bench Designs -benchtime 5x ./internal/store/cassandrastore -devices 100000
func BenchmarkDesigns(b *testing.B) {
	for _, design := range designs.Names() {
		b.Run(design, func(b *testing.B) {
			o := newKeyspace(b, design)
			o.pace = merge.UsualPace()
			s := open(b, o)
			fillState(b, s, *benchDevices, *benchDevices/5)
			filter, _ := andon.ParseStateFilter("WARNING2")
			for _, load := range []struct {
				name  string
				limit int // of the page
				pages int
			}{
				{"first 100", 100, 1},
				{"first 1000", andon.MaxLimit, 1},
				{"all", andon.MaxLimit, *benchDevices / andon.MaxLimit},
			} {
				b.Run(load.name, func(b *testing.B) {
					ctx := b.Context()
					count := &tombstones{store: s, reads: map[string]int64{}}
					before, _ := count.count(ctx)
					for b.Loop() {
						readPages(ctx, b, s, filter, load.limit, load.pages)
					}
					after, _ := count.count(ctx)
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

// fillState puts devices into one state, and as many as left into it and out again, as it is
// after all reviews. What they show is in memory only, and nothing else is read.
func fillState(b *testing.B, s *Store, in, left int) {
	b.Helper()
	ctx, at := b.Context(), realClock()-3_600_000_000
	t, err := s.tenant(ctx, andon.DefaultTenant)
	if err != nil {
		b.Fatal(err)
	}
	design := s.working.Load().Reads
	var entered, changed []cql.Mutation
	for i := range in + left {
		id := fmt.Sprintf("device-%07d", i)
		p := designs.Place{Tenant: t.Key, Device: id, State: "WARNING2", Severity: 48, At: at}
		entered = append(entered, design.Add(p))
		if i%6 == 5 { // one of six, which are left of in+left
			p.At += 1_000_000
			p.State, p.Severity = "NORMAL", 0
			changed = append(changed, design.Add(p))
			p.At--
			p.State = "WARNING2"
			changed = append(changed, design.Remove(p)...)
		}
	}
	states := []cql.Mutation{cql.One(
		"INSERT INTO directory (tenant, kind, id, unit, shard, label) "+
			"VALUES (?, 'names', 'state', 0, 0, 'WARNING2')", t.Key)}
	for _, all := range [][]cql.Mutation{states, entered, changed} {
		var pieces []cql.Mutation
		for part := range slices.Chunk(all, 50) {
			pieces = append(pieces, slices.Concat(part...))
		}
		if err := s.db.Write(ctx, pieces...); err != nil {
			b.Fatal(err)
		}
	}
	remember(b, s, t, in+left, at)
}

// remember has a store know what devices show, once it is alone.
func remember(b *testing.B, s *Store, t *rows.Tenant, devices int, at andon.Time) {
	b.Helper()
	ctx := b.Context()
	if err := s.mayWrite(ctx); err != nil {
		b.Fatal(err)
	}
	for s.processes.Alone() == 0 {
		<-time.After(10 * time.Millisecond)
	}
	for i := range devices {
		_, slots, err := s.take(ctx, t, andon.DeviceID(fmt.Sprintf("device-%07d", i)))
		if err != nil {
			b.Fatal(err)
		}
		m := merge.Start{First: at, Final: true}
		slot := slots.Slots[0]
		slot.View = &view{Latest: merge.Latest{Run: m, Incident: m, States: []merge.Newest{
			{State: "WARNING2", Time: at, Known: true},
		}}}
		if i%6 == 5 {
			slot.View.Raise(merge.Newest{State: "NORMAL", Time: at + 1_000_000, Known: true})
		}
		slot.View.read = s.processes.Now()
		slots.Give()
	}
}
