package cassandrastore

import (
	"context"

	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// grow raises the number of shards of a device if the partitions of a day are full. A partition
// that other processes may have written to is counted later.
func (a *appending) grow(d *deviceAppend) {
	device, days := d.events[0].Device, map[uint32]merge.Load{}
	for i := range d.events {
		e := &d.events[i]
		l := days[e.Time.Day()]
		l.Add(rows.EntrySize(e))
		days[e.Time.Day()] = l
	}
	n, unsure := a.store.fullness.Grow(a.tenant.Key, device, d.is.shards, days)
	a.unsure = append(a.unsure, unsure...)
	if n == max(d.is.shards, 1) {
		return
	}
	d.is.shards = n
	set := rows.SetLatest(a.tenant.Key, device, "shards", int64(n), n)
	a.log = append(a.log, cql.Mutation{set})
}

// countRows counts the rows of partitions that other processes may have written to. All shards of a
// number fill alike, so one of them is counted. A count that fails is repeated by a later append.
func (s *Store) countRows(ctx context.Context, unsure []merge.Partition) {
	err := shared.Parallel(ctx, len(unsure), func(ctx context.Context, i int) error {
		p := unsure[i]
		n, err := s.rows.CountRows(ctx, p)
		if err == nil {
			s.fullness.Counted(p, n*int64(p.Shards))
		}
		return err
	})
	if err != nil {
		s.options.Log.Debug("the rows of a partition can't be counted", "error", err)
	}
}
