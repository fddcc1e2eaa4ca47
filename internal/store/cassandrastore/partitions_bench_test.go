package cassandrastore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/andonhq/andon"
)

// BenchmarkLargePartition fills a partition of the log of a device until it has so many bytes, in
// messages of one size, and reads it: the newest page, the oldest, one in the middle, all of it
// page by page, and its count, as an append has it counted that may fill it. The store would divide
// it at 50,000 units.
//
//	ANDON_ENGINES=1 go test -run '^$' -bench LargePartition -benchtime 10x -timeout 1h \
//		./internal/store/cassandrastore
func BenchmarkLargePartition(b *testing.B) {
	e := engineFor(b)
	s := open(b, e.options)
	s.partitionUnits = 1 << 40 // it is not divided
	for _, c := range []struct{ rows, message int }{
		{10_000, 40}, {100_000, 40}, {10_000, 1000}, {100_000, 1000}, {400_000, 1000},
		{6_250, 16_000}, {25_000, 16_000},
	} {
		p := &filledPartition{s, c.rows, c.message, realClock().Day() - 1}
		b.Run(p.String(), func(b *testing.B) {
			p.fill(b)
			for _, load := range p.loads() {
				b.Run(load.name, func(b *testing.B) { contend(b, e, 1, load.each, load.contender) })
			}
			b.Log(p.largest(b), "MiB is the largest partition;", e.warnings())
		})
	}
}

// filledPartition is a device with a day in one partition.
type filledPartition struct {
	store         *Store
	rows, message int
	day           uint32
}

func (p *filledPartition) String() string {
	return fmt.Sprintf("%d MB in %d rows", p.rows*(p.message+60)/1_000_000, p.rows)
}

func (p *filledPartition) device() andon.DeviceID {
	return andon.DeviceID(fmt.Sprintf("device-%d-%d", p.rows, p.message))
}

// entryTime is the time of an entry.
func (p *filledPartition) entryTime(n int) andon.Time {
	return andon.DayStart(p.day) + andon.Time(n)*100_000
}

// fill appends the entries, and has them flushed.
func (p *filledPartition) fill(b *testing.B) {
	b.Helper()
	const each = 100
	for first := 0; first < p.rows; first += each {
		events := make([]andon.Event, min(each, p.rows-first))
		for i := range events {
			events[i] = andon.Event{
				Device: p.device(), State: "NORMAL", Message: p.text(),
				Time: p.entryTime(first + i),
			}
		}
		err := p.store.Append(b.Context(), andon.DefaultTenant, realClock(), events)
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := p.store.flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// text is a message that can hardly be compressed.
func (p *filledPartition) text() string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	text := make([]byte, p.message)
	for i := range text {
		text[i] = letters[rand.IntN(len(letters))]
	}
	return string(text)
}

// partitionLoad is one way to read it, so often in a block.
type partitionLoad struct {
	name string
	each int
	*contender
}

func (p *filledPartition) loads() []partitionLoad {
	const page, pages = 100, 1000
	list := func(name string, q andon.EventQuery) partitionLoad {
		q.Limit = min(page, p.rows)
		read := func(ctx context.Context) error {
			_, err := p.read(ctx, q)
			return err
		}
		return partitionLoad{name, 10, &contender{name: "page", read: read}}
	}
	middle := andon.Span{To: p.entryTime(p.rows / 2)}
	return []partitionLoad{
		list("newest 100", andon.EventQuery{}),
		list("oldest 100", andon.EventQuery{Order: andon.Asc}),
		list("100 before the middle", andon.EventQuery{Span: middle}),
		{"all by 1000", 1, &contender{name: "all", read: func(ctx context.Context) error {
			q := andon.EventQuery{Limit: pages}
			for n := 0; n < p.rows; n += pages {
				last, err := p.read(ctx, q)
				if err != nil {
					return err
				}
				q.After = &last
			}
			return nil
		}}},
		{"count", 1, &contender{name: "count", read: func(ctx context.Context) error {
			n, err := p.store.rows.CountRows(ctx, string(andon.DefaultTenant), p.device(), p.day, 1)
			if err == nil && n != int64(p.rows) {
				err = fmt.Errorf("%d rows of %d are counted", n, p.rows)
			}
			return err
		}}},
	}
}

// read reads one page, and returns the key of its last entry.
func (p *filledPartition) read(
	ctx context.Context, q andon.EventQuery,
) (last andon.EventKey, err error) {
	n := 0
	for e, err := range p.store.DeviceEvents(ctx, andon.DefaultTenant, p.device(), q) {
		if err != nil {
			return last, err
		}
		n, last = n+1, e.Key(andon.DefaultStates())
	}
	if n == 0 || n < q.Limit && q.After == nil {
		err = fmt.Errorf("%d of %d entries", n, q.Limit)
	}
	return last, err
}

// largest is what the nodes say of the largest partition of the log, in MiB.
func (p *filledPartition) largest(b *testing.B) (most int64) {
	b.Helper()
	err := p.store.eachNode(b.Context(), func(node string) error {
		rows, err := p.store.query(b.Context(), "SELECT keyspace_name, table_name, mebibytes "+
			"FROM system_views.max_partition_size", node)
		for _, r := range rows {
			if r["keyspace_name"] == p.store.options.Keyspace {
				is, _ := r["mebibytes"].(int64)
				most = max(most, is)
			}
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return most
}
