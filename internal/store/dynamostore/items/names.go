package items

import (
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// The key of Records.
const (
	AttrKey  = "Key"
	AttrSort = "Sort"
)

// RecordKeys are the keys of Records.
func RecordKeys() ddb.Keys { return ddb.Keys{Hash: AttrKey, Sort: AttrSort} }

// IndexRows are rows without values that say what exists, collected by one goroutine for one write.
// They are only deleted with their tenant, and not written again where this process has cached that
// they exist.
type IndexRows map[indexRow]bool

type indexRow struct{ Partition, Sort string }

// Text returns the key of the row as one text.
func (r indexRow) Text() string { return r.Partition + "\x00" + r.Sort }

// OfState reports whether it is the row of a state.
func (r indexRow) OfState() bool { return strings.HasPrefix(r.Partition, ofStates) }

const ofStates = "state#"

func (x IndexRows) add(partition, sort string) {
	if sort != "" {
		x[indexRow{partition, sort}] = true
	}
}

// State adds the row of a state that has entries.
func (x IndexRows) State(t *tenant, state andon.State) { x.add(ofStates+t.Key, string(state)) }

// Name adds the row of a name that is in use.
func (x IndexRows) Name(t *tenant, of andon.NameKind, name string) { x.add(NamesKey(t, of), name) }

// Kind adds the row of a kind that has records.
func (x IndexRows) Kind(t *tenant, kind andon.RecordKind) { x.add(KindsKey(t.Key), string(kind)) }

// Metrics adds the rows of a message's metrics that the device does not name yet.
func (x IndexRows) Metrics(d *Device, m *Message) {
	for _, m := range m.Metrics {
		if !slices.Contains(d.Metrics, m.Name) {
			x.Name(d.Tenant, andon.MetricNames, string(m.Name))
			x.add(MetricKey(d.Tenant, m.Name, BucketOf(string(d.ID))), string(d.ID))
		}
	}
}

// NamesKey returns the partition of the names of a kind.
func NamesKey(t *tenant, of andon.NameKind) string {
	return Join("name#"+t.Key, []string{"operator", "supervisor", "metric"}[of])
}

// KindsKey returns the partition of the kinds of records, by the key of a tenant.
func KindsKey(key string) string { return Join("name#"+key, "kind") }

// MetricKey returns the partition of devices that may have a metric.
func MetricKey(t *tenant, name andon.MetricName, bucket string) string {
	return Join("metric#"+t.Key, string(name), bucket)
}

// Records returns the query for a partition of the table Records.
func Records(partition string) ddb.Query {
	return ddb.Query{Table: TableRecords, Key: RecordKeys(), Partition: partition}
}
