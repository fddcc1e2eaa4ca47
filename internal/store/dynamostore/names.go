package dynamostore

import (
	"context"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// writeIndexed writes index rows that this process has not written yet, and others.
func (s *Store) writeIndexed(ctx context.Context, x items.IndexRows, others ...ddb.Write) error {
	sums := map[uint64]bool{}
	for row := range x {
		sum := s.written.SumText(row.Text())
		if sums[sum] || s.written.Holds(sum) {
			continue
		}
		sums[sum] = true
		put := items.RecordKeys().Item(row.Partition, row.Sort)
		others = append(others, ddb.Write{Table: items.TableRecords, Put: put})
	}
	if err := s.db.Write(ctx, others...); err != nil {
		return err
	}
	s.written.Add(sums)
	return nil
}

// follow writes index rows, and others, of what a tenant was sent, and returns the tenant. Where a
// state may get its first entry, that is the tenant as it is once the row of the state is there:
// PutTenant, which looks for the row after it has changed a severity, or this sees the other.
func (s *Store) follow(
	ctx context.Context, t *tenant, x items.IndexRows, others ...ddb.Write,
) (*tenant, error) {
	first := false
	for row := range x {
		first = first || row.OfState() && !s.written.Holds(s.written.SumText(row.Text()))
	}
	err := s.writeIndexed(ctx, x, others...)
	if err != nil || !first {
		return t, err
	}
	s.Recent.Forget(t.Record.ID)
	now, err := s.tenant(ctx, t.Record.ID)
	if err == nil && now.Key != t.Key {
		err = andon.NoTenant(t.Record.ID) // it was deleted, and made again
	}
	return now, err
}

// seenStates returns the states that have entries, in order.
func (s *Store) seenStates(ctx context.Context, key string) ([]andon.State, error) {
	q := items.Records("state#" + key)
	q.Order = andon.Asc
	return ddb.Collect(ctx, s.db, q, func(i ddb.Item) (andon.State, bool, error) {
		return andon.State(i.Text(items.AttrSort)), true, nil
	})
}

// deleteNames deletes the index rows of a deleted tenant.
func (s *Store) deleteNames(ctx context.Context, t *tenant) error {
	all := []ddb.Query{items.Records("state#" + t.Key), items.Records(items.KindsKey(t.Key))}
	metrics := items.Records(items.NamesKey(t, andon.MetricNames))
	for i, err := range s.db.Items(ctx, metrics) {
		if err != nil {
			return err
		}
		for n := range items.Buckets {
			key := items.MetricKey(t, andon.MetricName(i.Text(items.AttrSort)), strconv.Itoa(n))
			all = append(all, items.Records(key))
		}
	}
	// The names of metrics are deleted last: an interrupted deletion needs them.
	all = append(all, items.Records(items.NamesKey(t, andon.OperatorNames)),
		items.Records(items.NamesKey(t, andon.SupervisorNames)), metrics)
	return s.db.DeleteAll(ctx, all...)
}
