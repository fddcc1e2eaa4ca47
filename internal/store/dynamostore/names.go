package dynamostore

import (
	"context"
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

// indexRows are rows without values that say what there is, as part of one write. They are never
// taken away, and not written again where this process knows that they are there.
type indexRows struct {
	store  *Store
	tenant *tenant
	rows   []write
	sums   map[uint64]bool
}

func (x *indexRows) add(partition, sort string) {
	sum := x.store.written.SumText(partition + "\x00" + sort)
	if sort == "" || x.sums[sum] || x.store.written.Holds(sum) {
		return
	}
	if x.sums == nil {
		x.sums = map[uint64]bool{}
	}
	x.sums[sum] = true
	x.rows = append(x.rows, write{table: tableRecords, put: keyed(recordKeys(), partition, sort)})
}

// state says that a state has entries.
func (x *indexRows) state(state andon.State) { x.add("state#"+x.tenant.Key, string(state)) }

// name says that a name is in use.
func (x *indexRows) name(of andon.NameKind, name string) { x.add(namesKey(x.tenant, of), name) }

// kind says that there are records of a kind.
func (x *indexRows) kind(kind andon.RecordKind) { x.add(kindsKey(x.tenant.Key), string(kind)) }

// metric says that a device may have a metric.
func (x *indexRows) metric(name andon.MetricName, device andon.DeviceID) {
	x.name(andon.MetricNames, string(name))
	x.add(metricKey(x.tenant, name, bucketOf(string(device))), string(device))
}

func namesKey(t *tenant, of andon.NameKind) string {
	return join("name#"+t.Key, []string{"operator", "supervisor", "metric"}[of])
}

func kindsKey(key string) string { return join("name#"+key, "kind") }

func metricKey(t *tenant, name andon.MetricName, bucket string) string {
	return join("metric#"+t.Key, string(name), bucket)
}

// write writes the rows and others.
func (x *indexRows) write(ctx context.Context, others ...write) error {
	if err := x.store.writeAll(ctx, append(others, x.rows...)); err != nil {
		return err
	}
	x.store.written.Add(x.sums)
	x.rows, x.sums = nil, nil
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
