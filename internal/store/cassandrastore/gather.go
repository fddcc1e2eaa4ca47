package cassandrastore

import (
	"context"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// scatteredPage is the size of a page of scattered rows: all of them are needed.
const scatteredPage = 5000

// gather returns all devices of a tenant that scattered findings give, from one on, in the order of
// ids. Pages after the first one of a list use what was read for a first page, if no other process
// can have written since.
func (s *Store) gather(
	ctx context.Context, all []designs.Finding, t *rows.Tenant, from andon.DeviceID,
	q andon.DeviceQuery,
) ([]andon.DeviceID, error) {
	key := t.Key + "\x00" + q.States.String()
	now := s.processes.Now()
	if alone := s.processes.Alone(); q.After != nil && alone != 0 {
		if ids, ok := s.listedDevices.From(key, alone, from); ok {
			andon.PlanOf(ctx).Add(andon.PlanStep{Statement: gatheredBefore, Rows: len(ids)})
			return ids, nil
		}
	}
	reading := s.listedDevices.Begin(t.Key)
	found := make([][]andon.DeviceID, len(all))
	err := shared.Parallel(ctx, len(all), func(ctx context.Context, i int) (err error) {
		found[i], err = seq.Collect(s.stream(all[i], scatteredPage, t.Key, q.States).All(ctx))
		return err
	})
	if err != nil {
		return nil, err
	}
	ids := slices.Concat(found...)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	s.listedDevices.Keep(reading, key, now, ids)
	at, _ := slices.BinarySearch(ids, from)
	return ids[at:], nil
}

const gatheredBefore = "-- the devices that were found for the first page, from memory: no other " +
	"process writes to this keyspace"
