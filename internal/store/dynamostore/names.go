package dynamostore

import (
	"context"
	"slices"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

const (
	attrKey  = "Key"
	attrSort = "Sort"
)

func recordKeys() ddb.Keys { return ddb.Keys{Hash: attrKey, Sort: attrSort} }

// record returns the query for a partition of the table Records.
func (s *Store) record(partition string) ddb.Query {
	return ddb.Query{Table: tableRecords, Key: recordKeys(), Partition: partition}
}

// indexRows are rows without values that say what exists, collected by one goroutine for one write.
// They are only deleted with their tenant, and not written again where this process has cached that
// they exist.
type indexRows map[indexRow]bool

type indexRow struct{ partition, sort string }

func (x indexRows) add(partition, sort string) {
	if sort != "" {
		x[indexRow{partition, sort}] = true
	}
}

// state adds the row of a state that has entries.
func (x indexRows) state(t *tenant, state andon.State) { x.add("state#"+t.Key, string(state)) }

// name adds the row of a name that is in use.
func (x indexRows) name(t *tenant, of andon.NameKind, name string) { x.add(namesKey(t, of), name) }

// kind adds the row of a kind that has records.
func (x indexRows) kind(t *tenant, kind andon.RecordKind) { x.add(kindsKey(t.Key), string(kind)) }

// metrics adds the rows of a message's metrics that the device does not name yet.
func (x indexRows) metrics(t *tenant, d *device, m *message) {
	for _, m := range m.Metrics {
		if !slices.Contains(d.Metrics, m.Name) {
			x.name(t, andon.MetricNames, string(m.Name))
			x.add(metricKey(t, m.Name, bucketOf(string(d.ID))), string(d.ID))
		}
	}
}

func namesKey(t *tenant, of andon.NameKind) string {
	return join("name#"+t.Key, []string{"operator", "supervisor", "metric"}[of])
}

func kindsKey(key string) string { return join("name#"+key, "kind") }

func metricKey(t *tenant, name andon.MetricName, bucket string) string {
	return join("metric#"+t.Key, string(name), bucket)
}

// writeIndexed writes index rows that this process has not written yet, and others.
func (s *Store) writeIndexed(ctx context.Context, x indexRows, others ...ddb.Write) error {
	sums := map[uint64]bool{}
	for row := range x {
		sum := s.written.SumText(row.partition + "\x00" + row.sort)
		if sums[sum] || s.written.Holds(sum) {
			continue
		}
		sums[sum] = true
		put := recordKeys().Item(row.partition, row.sort)
		others = append(others, ddb.Write{Table: tableRecords, Put: put})
	}
	if err := s.db.Write(ctx, others...); err != nil {
		return err
	}
	s.written.Add(sums)
	return nil
}

// seenStates returns the states that have entries, in order.
func (s *Store) seenStates(ctx context.Context, key string) ([]andon.State, error) {
	q := s.record("state#" + key)
	q.Order = andon.Asc
	return ddb.Collect(ctx, s.db, q, func(i ddb.Item) (andon.State, bool, error) {
		return andon.State(i.Text(attrSort)), true, nil
	})
}

// deleteNames deletes the index rows of a deleted tenant.
func (s *Store) deleteNames(ctx context.Context, t *tenant) error {
	all := []ddb.Query{s.record("state#" + t.Key), s.record(kindsKey(t.Key))}
	metrics := s.record(namesKey(t, andon.MetricNames))
	for i, err := range s.db.Items(ctx, metrics) {
		if err != nil {
			return err
		}
		for n := range buckets {
			key := metricKey(t, andon.MetricName(i.Text(attrSort)), strconv.Itoa(n))
			all = append(all, s.record(key))
		}
	}
	// The names of metrics are deleted last: an interrupted deletion needs them.
	all = append(all, s.record(namesKey(t, andon.OperatorNames)),
		s.record(namesKey(t, andon.SupervisorNames)), metrics)
	for _, q := range all {
		if err := s.db.DeleteAll(ctx, q); err != nil {
			return err
		}
	}
	return nil
}
