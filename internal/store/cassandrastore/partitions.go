package cassandrastore

import (
	"context"
	"math/rand/v2"

	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// A device that writes more than a partition may have gets more partitions a day. No process keeps
// count of what is in them, since others write there, too: an append has the database count a
// partition with a probability that rises with what it writes. So each is counted some six times
// before it is full, by whichever process, and of 400 that are full one gets twice as many rows.

// countsOfPartition is how many times a partition is counted until it is full, on average.
const countsOfPartition = 6

// load is what an append adds to a day of a device. A unit is a row, or a KiB where a row has more.
type load struct {
	of          *deviceAppend
	day         uint32
	rows, units int64
}

// grow raises the number of shards of a device if one request fills the partitions of a day, and
// chooses the days whose rows are to be counted.
func (a *appending) grow(d *deviceAppend) {
	days := map[uint32]load{}
	for i := range d.events {
		e := &d.events[i]
		l := days[e.Time.Day()]
		l.rows, l.units = l.rows+1, l.units+1+int64(rows.EntrySize(e))>>10
		days[e.Time.Day()] = l
	}
	n, limit := max(d.is.shards, 1), a.store.partitionUnits
	for _, l := range days {
		for l.units > limit*int64(n) && n < shared.MaxShards {
			n *= 2
		}
	}
	for day, l := range days {
		if rand.Int64N(limit*int64(n)) < countsOfPartition*l.units {
			a.unsure = append(a.unsure, load{d, day, l.rows, l.units})
		}
	}
	if n > max(d.is.shards, 1) {
		a.log = append(a.log, cql.Mutation{d.setShards(a.tenant, n)})
	}
}

// setShards notes that a device has so many shards, unless it has more.
func (d *deviceAppend) setShards(t *rows.Tenant, n int) cql.Statement {
	d.is.shards = n
	return rows.SetLatest(t.Key, d.events[0].Device, "shards", int64(n), n)
}

// divideFull counts the rows of partitions, and doubles the shards of a device whose partitions are
// full. All shards of a number fill alike, so one of them is counted. A count that fails is left to
// a later append.
func (a *appending) divideFull(ctx context.Context) {
	s := a.store
	full, err := shared.Found(ctx, a.unsure, func(ctx context.Context, l load) (*load, error) {
		n, err := s.rows.CountRows(ctx, a.tenant.Key, l.of.events[0].Device, l.day, l.of.is.shards)
		if err != nil || n*l.units < s.partitionUnits*l.rows { // its rows are taken for alike
			return nil, err
		}
		return &l, nil
	})
	for _, l := range full {
		if n := 2 * max(l.of.is.shards, 1); err == nil && n <= shared.MaxShards {
			l.of.slot.View = nil
			err = s.db.Write(ctx, cql.Mutation{l.of.setShards(a.tenant, n)})
		}
	}
	if err != nil {
		s.options.Log.Debug("the rows of a partition can't be counted", "error", err)
	}
}
