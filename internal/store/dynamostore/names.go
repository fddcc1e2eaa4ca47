package dynamostore

import (
	"context"
	"slices"
	"strconv"

	"github.com/andonhq/andon"
)

const (
	attrKey  = "Key"
	attrSort = "Sort"
)

func recordKeys() keys { return keys{attrKey, attrSort} }

// record asks for a partition of the table Records.
func (s *Store) record(partition string) question {
	return question{table: tableRecords, key: recordKeys(), partition: partition}
}

// indexRows are rows without values that say what there is, gathered by one goroutine for one
// write. They are never taken away, and not written again where this process knows that they are
// there.
type indexRows map[indexRow]bool

type indexRow struct{ partition, sort string }

func (x indexRows) add(partition, sort string) {
	if sort != "" {
		x[indexRow{partition, sort}] = true
	}
}

// state says that a state has entries.
func (x indexRows) state(t *tenant, state andon.State) { x.add("state#"+t.Key, string(state)) }

// name says that a name is in use.
func (x indexRows) name(t *tenant, of andon.NameKind, name string) { x.add(namesKey(t, of), name) }

// kind says that there are records of a kind.
func (x indexRows) kind(t *tenant, kind andon.RecordKind) { x.add(kindsKey(t.Key), string(kind)) }

// metrics say that a device may have the metrics of a message, which the device does not name.
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
func (s *Store) writeIndexed(ctx context.Context, x indexRows, others ...write) error {
	sums := map[uint64]bool{}
	for row := range x {
		sum := s.written.SumText(row.partition + "\x00" + row.sort)
		if sums[sum] || s.written.Holds(sum) {
			continue
		}
		sums[sum] = true
		put := keyed(recordKeys(), row.partition, row.sort)
		others = append(others, write{table: tableRecords, put: put})
	}
	if err := s.writeAll(ctx, others); err != nil {
		return err
	}
	s.written.Add(sums)
	return nil
}

// seenStates returns the states that have entries, in order.
func (s *Store) seenStates(ctx context.Context, key string) ([]andon.State, error) {
	q := s.record("state#" + key)
	q.order = andon.Asc
	return collect(ctx, s, q, func(i item) (andon.State, bool, error) {
		return andon.State(i.text(attrSort)), true, nil
	})
}

// deleteNames deletes the index rows of a incarnation that is over.
func (s *Store) deleteNames(ctx context.Context, t *tenant) error {
	all := []question{s.record("state#" + t.Key), s.record(kindsKey(t.Key))}
	metrics := s.record(namesKey(t, andon.MetricNames))
	for i, err := range s.each(ctx, metrics) {
		if err != nil {
			return err
		}
		for n := range buckets {
			key := metricKey(t, andon.MetricName(i.text(attrSort)), strconv.Itoa(n))
			all = append(all, s.record(key))
		}
	}
	// The names of metrics go last: a deletion that was broken off goes by them.
	all = append(all, s.record(namesKey(t, andon.OperatorNames)),
		s.record(namesKey(t, andon.SupervisorNames)), metrics)
	for _, q := range all {
		if err := s.deleteAll(ctx, q); err != nil {
			return err
		}
	}
	return nil
}
