package cassandrastore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
)

// BenchmarkBuckets reads the first devices of a state over its buckets in three ways: with a query
// for each bucket, all at once; with one statement that names all buckets (IN), in order; and as
// the store does, with a statement for sixteen buckets that limits the rows of each. Read is what
// index rows say, nothing of the devices. With -ring the nodes are three, and ANDON_LONG must be
// set.
//
//	ANDON_ENGINES=1 go test -run '^$' -bench Buckets -benchtime 20x -timeout 1h \
//		./internal/store/cassandrastore
func BenchmarkBuckets(b *testing.B) {
	e := engineFor(b)
	s := open(b, e.options)
	for _, devices := range []int{50_000, 1000} {
		for _, buckets := range []int{4, 16, 64} {
			l := newBucketList(b, s, devices, buckets)
			l.fill(b)
			for _, load := range []struct{ limit, each int }{{100, 10}, {1000, 5}} {
				for _, readers := range []int{1, 8} {
					name := fmt.Sprintf("%d of %d in %d by %d", load.limit, devices, buckets,
						readers)
					b.Run(name, func(b *testing.B) {
						ways := []*contender{l.parallel(load.limit), l.asStored(load.limit)}
						if readers == 1 { // it is slow
							ways = append(ways, l.oneStatement(load.limit))
						}
						contend(b, e, readers, load.each, ways...)
					})
				}
			}
		}
	}
}

// bucketList is a state of so many devices in so many buckets.
type bucketList struct {
	store            *Store
	design           designs.Design
	place            designs.Place
	devices, buckets int
}

func newBucketList(b *testing.B, s *Store, devices, buckets int) *bucketList {
	b.Helper()
	d, err := designs.New(designs.Layout{Design: "buckets", Buckets: strconv.Itoa(buckets)})
	if err != nil {
		b.Fatal(err)
	}
	p := designs.Place{Tenant: "t", State: "WARNING2", Severity: 48, At: realClock()}
	p.Tenant += strconv.Itoa(devices)
	return &bucketList{s, d, p, devices, buckets}
}

func (l *bucketList) fill(b *testing.B) {
	b.Helper()
	open := make([]cql.Mutation, l.buckets)
	var all []cql.Mutation
	for i := range l.devices {
		p := l.place
		p.Device = fmt.Sprintf("line-%02d/press-%07d", i%40, i)
		row := l.design.Add(p)
		bucket := row[0].Args[3].(int)
		if open[bucket] = append(open[bucket], row...); len(open[bucket]) == 100 {
			all, open[bucket] = append(all, open[bucket]), nil
		}
	}
	all = slices.DeleteFunc(append(all, open...), func(m cql.Mutation) bool { return len(m) == 0 })
	if err := l.store.db.Write(b.Context(), all...); err != nil {
		b.Fatal(err)
	}
}

// parallel reads with a query for each bucket, page by page.
func (l *bucketList) parallel(limit int) *contender {
	ask := designs.IDsFrom("latest_by_bucket", 4, "tenant", "state", "buckets", "bucket")
	var all []designs.Finding
	for bucket := range l.buckets {
		all = append(all, designs.Finding{Query: ask, Args: l.args(bucket)})
	}
	return l.contender("parallel", all, limit)
}

func (l *bucketList) asStored(limit int) *contender {
	return l.contender("store", l.design.Find(l.place), limit)
}

// args are those of a query for a bucket, or for several.
func (l *bucketList) args(buckets any) []any {
	return []any{l.place.Tenant, string(l.place.State), l.buckets, buckets, ""}
}

func (l *bucketList) contender(name string, all []designs.Finding, limit int) *contender {
	return &contender{name: name, read: func(ctx context.Context) error {
		found := l.store.streams(ctx, all, andon.DeviceQuery{Limit: limit})
		ids, err := seq.Collect(seq.First(limit, found))
		if err == nil && len(ids) != limit {
			err = fmt.Errorf("%d of %d devices", len(ids), limit)
		}
		return err
	}}
}

// oneStatement reads with one statement. Cassandra refuses pages of a list in order, so it reads
// all of it.
func (l *bucketList) oneStatement(limit int) *contender {
	numbers := make([]int, l.buckets)
	for i := range numbers {
		numbers[i] = i
	}
	text := "SELECT device FROM latest_by_bucket WHERE tenant = ? AND state = ? AND buckets = ? " +
		"AND bucket IN ? AND device >= ? ORDER BY device LIMIT " + strconv.Itoa(limit)
	return &contender{name: "in", read: func(ctx context.Context) error {
		var device string
		n := 0
		it := l.store.db.Driver().Query(text, l.args(numbers)...).
			Consistency(l.store.db.Reads()).PageSize(0).IterContext(ctx)
		for it.Scan(&device) {
			n++
		}
		err := it.Close()
		if err == nil && n != limit {
			err = fmt.Errorf("%d of %d devices", n, limit)
		}
		return err
	}}
}
