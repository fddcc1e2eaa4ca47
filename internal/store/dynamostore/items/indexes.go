package items

import (
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// MetricGSI finds the readings of all devices that have a metric, by time. The item of a message is
// in it once, under the first of the listed metrics that the message has:
//
//	metricType  <tenant>#<metric>, or one of its shards, by the device
//	metricTime  <time>#<device>#<hash>
//
// So the readings of the second metric are in the partitions of the first, too, and a query for
// it reads both. A message costs one write unit more, however many metrics it has.
//
// Messages that were written before the index, or by another list, have no keys or other ones. A
// record of the tables says which metrics are listed, and from which time of readings on all
// messages have such keys: a day after `andon store init` was run with the list, within which every
// process is to be restarted with it. Earlier times are read device by device.
const (
	IndexMetric = "MetricGSI"

	AttrMetricType = "metricType"
	AttrMetricTime = "metricTime"
	AttrMetricList = "Metrics"
	AttrMetricFrom = "From"

	mostMetrics = 8

	// UntilAllWrite is how long a fleet of processes has for starting again with another list.
	UntilAllWrite = andon.Duration(24 * 3600 * 1_000_000)
)

// CheckMetrics returns what is wrong with the list.
func (o *ReadingIndexes) CheckMetrics() error {
	if len(o.MetricIndex) > mostMetrics {
		return fmt.Errorf("has %d metrics: at most %d", len(o.MetricIndex), mostMetrics)
	}
	for i, name := range o.MetricIndex {
		if err := andon.MetricName(name).Validate(); err != nil {
			return fmt.Errorf("%q can't be a metric: %w", name, err)
		}
		if slices.Contains(o.MetricIndex[:i], name) {
			return fmt.Errorf("has %q twice", name)
		}
	}
	return nil
}

// Listed returns the metric under which a message is in the index; "" where it has none of them.
func (o *ReadingIndexes) Listed(m *Message) string {
	n := slices.IndexFunc(o.MetricIndex, func(name string) bool {
		_, has := m.Metrics.Get(andon.MetricName(name))
		return has
	})
	if n < 0 {
		return ""
	}
	return o.MetricIndex[n]
}

// setMetric gives the item of a message the keys of the index, where it has a listed metric.
func (o *ReadingIndexes) setMetric(i ddb.Item, t *tenant, m *Message) {
	if name := o.Listed(m); name != "" {
		at, hash, _ := strings.Cut(i.Text(AttrTimestamp), "#")
		i[AttrMetricType] = ddb.Text(indexKey(t, OfMetric, name, string(m.Device)))
		i[AttrMetricTime] = ddb.Text(at + "#" + Escape(string(m.Device)) + "#" + hash)
	}
}

// MetricsListed is what the tables store about the index.
type MetricsListed struct {
	List string     // joined by commas; "" for none
	From andon.Time // of the readings that all have its keys
}

// ListedKey returns the key of that record.
func ListedKey() ddb.Item { return RecordKeys().Item("index", IndexMetric) }

// Item returns the item of the record.
func (m MetricsListed) Item() ddb.Item {
	i := ListedKey()
	i.SetText(AttrMetricList, m.List)
	i[AttrMetricFrom] = ddb.Number(m.From)
	return i
}

// ReadListed reads the record of the listed metrics.
func ReadListed(i ddb.Item) MetricsListed {
	return MetricsListed{i.Text(AttrMetricList), i.Time(AttrMetricFrom)}
}

// The indexes of the guide to time series are optional. Each costs every reading a write unit or
// more, and answers only what may be eventual.
const (
	IndexLatest = "DeviceLatestGSI"

	// What an optional index has of an item.
	ProjectsNone    = "none" // there is no index
	ProjectsMetrics = "metrics"
	ProjectsAll     = "all"

	// attrWhole marks a message without metadata: an index that has no metadata has all of it.
	attrWhole = "whole"
)

// ReadingIndexes are the optional indexes of readings as they are set.
type ReadingIndexes struct {
	LatestIndex      string // what DeviceLatestGSI has of a reading
	MetricIndex      []string
	MetricProjection string
}

// TableIndexes returns those that are set.
func (o *ReadingIndexes) TableIndexes() (all []ddb.Index) {
	projected := func(projection string) ([]string, bool) {
		return []string{attrMetrics, attrDelivery, attrWhole}, projection == ProjectsAll
	}
	if o.LatestIndex != "" && o.LatestIndex != ProjectsNone {
		x := ddb.Index{Name: IndexLatest, Key: ReadingKeys(),
			What: "The readings once more, for newest ones that many ask for."}
		x.Projects, x.All = projected(o.LatestIndex)
		all = append(all, x)
	}
	if len(o.MetricIndex) > 0 {
		x := ddb.Index{Name: IndexMetric, Key: ddb.Keys{Hash: AttrMetricType, Sort: AttrMetricTime},
			What: "Readings that have a listed metric, of all devices by time."}
		x.Projects, x.All = projected(o.MetricProjection)
		all = append(all, x)
	}
	return all
}

// SpareIndexes returns the names of those that are not set.
func (o *ReadingIndexes) SpareIndexes() (names []string) {
	set := o.TableIndexes()
	for _, name := range []string{IndexLatest, IndexMetric} {
		if !slices.ContainsFunc(set, func(x ddb.Index) bool { return x.Name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// MetricQueries returns the queries for the messages under some listed metrics.
func MetricQueries(t *tenant, metrics []string, q *andon.MetricQuery) (all []ddb.Query) {
	from, to := TimeBounds(q.Span)
	if q.After != nil {
		to = min(to, TimeText(q.After.Time)+"#"+Escape(string(q.After.Device))+"#")
	}
	if q.Span.Empty() {
		return nil
	}
	for _, name := range metrics {
		all = append(all, IndexQueries(t, OfMetric, name, ddb.Query{
			Table: TableReadings, Index: IndexMetric,
			Key:  ddb.Keys{Hash: AttrMetricType, Sort: AttrMetricTime},
			From: from, To: to, Page: PageOf(q.Limit, Divided(t, OfMetric, name).Read),
		})...)
	}
	return all
}
