package dynamostore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/provision"
	"github.com/andonhq/andon/internal/store/shared"
)

// MetricGSI finds the readings of all devices that have a metric, by time. The item of a message is
// in it once, under the first of the listed metrics that the message has:
//
//	metricType  <tenant>#<metric>#<n>, n by the device, so that no partition takes all
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
	indexMetric = "MetricGSI"

	attrMetricType = "metricType"
	attrMetricTime = "metricTime"
	attrMetricList = "Metrics"
	attrMetricFrom = "From"

	// metricBuckets is how many partitions each metric of a tenant has: part of what is stored. The
	// service takes 1,000 write units a second for each.
	metricBuckets = 16
	mostMetrics   = 8

	// untilAllWrite is how long a fleet of processes has for starting again with another list.
	untilAllWrite = andon.Duration(24 * 3600 * 1_000_000)
)

// checkMetrics returns what is wrong with the list.
func (o *Options) checkMetrics() error {
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

// setMetric gives the item of a message the keys of the index, where it has a listed metric.
func (o *Options) setMetric(i ddb.Item, t *tenant, m *message) {
	for _, name := range o.MetricIndex {
		if _, has := m.Metrics.Get(andon.MetricName(name)); has {
			n := shared.Spread(shared.Hash(string(m.Device)), metricBuckets)
			at, hash, _ := strings.Cut(i.Text(attrTimestamp), "#")
			i[attrMetricType] = ddb.Text(join(t.Key, name, strconv.Itoa(n)))
			i[attrMetricTime] = ddb.Text(at + "#" + escape(string(m.Device)) + "#" + hash)
			return
		}
	}
}

// metricsListed is what the tables store about the index.
type metricsListed struct {
	list string     // joined by commas; "" for none
	from andon.Time // of the readings that all have its keys
}

// listedKey returns the key of that record.
func listedKey() ddb.Item { return recordKeys().Item("index", indexMetric) }

func readListed(i ddb.Item) metricsListed {
	return metricsListed{i.Text(attrMetricList), i.Time(attrMetricFrom)}
}

// checkListed refuses to open tables that have another list than this process: its messages would
// be missing from what others find.
func (s *Store) checkListed(ctx context.Context) error {
	i, err := s.db.Get(ctx, tableRecords, listedKey())
	is, set := readListed(i).list, strings.Join(s.options.MetricIndex, ",")
	if err != nil || is == set {
		return err
	}
	return andon.Errorf(andon.Conflict, "the tables index the readings of %s in %s, and "+
		"dynamodb.metric_index is %s: set it as the tables have it, or run `andon store init` "+
		"with what is to be (and --remove-indexes for none) and start all processes with that",
		cmp.Or(is, "no metric"), indexMetric, cmp.Or(set, "empty"))
}

// metricPlace returns the position in the list of metrics by which the index can answer a query; -1
// where it can't.
func (s *Store) metricPlace(ctx context.Context, q *andon.MetricQuery) (int, error) {
	n := slices.Index(s.options.MetricIndex, string(q.Metric))
	if n < 0 || !ddb.IsEventual(ctx) || q.After != nil && !q.After.ByTime {
		return -1, nil
	}
	i, err := s.db.Get(ctx, tableRecords, listedKey())
	is := readListed(i)
	if err == nil && is.list == strings.Join(s.options.MetricIndex, ",") && q.Span.From >= is.from {
		return n, nil
	}
	return -1, err
}

// metricByTime answers from the index: newest first, whichever device it is.
func (s *Store) metricByTime(
	ctx context.Context, t *tenant, q andon.MetricQuery, place int,
	yield func(andon.MetricReading) bool,
) error {
	streams := s.metricStreams(t, &q, place)
	left := q.Limit
	for left > 0 {
		found, err := nextMessages(ctx, streams, min(left, ddb.MaxGets))
		if err != nil || len(found) == 0 {
			return err
		}
		found, err = s.stillOf(ctx, t, found)
		if err != nil {
			return err
		}
		for _, of := range found {
			r := joined(of)
			value, has := r.Metrics.Get(q.Metric)
			if !has || left <= 0 {
				continue
			}
			left--
			if !yield(andon.MetricReading{
				Device: r.Device, Time: r.Time, Value: value, ByTime: true,
			}) {
				return nil
			}
		}
	}
	return nil
}

// metricStreams returns the messages under the metric and under those that are listed before it.
func (s *Store) metricStreams(
	t *tenant, q *andon.MetricQuery, place int,
) (all []*shared.Rows[message]) {
	from, to := timeText(q.Span.From), timeText(andon.MaxTime)+"$"
	if q.Span.To != 0 {
		to = timeText(min(q.Span.To, andon.MaxTime)) + "$" // just after #
	}
	if q.After != nil {
		to = min(to, timeText(q.After.Time)+"#"+escape(string(q.After.Device))+"#")
	}
	if q.Span.Empty() {
		return nil
	}
	for _, name := range s.options.MetricIndex[:place+1] {
		for n := range metricBuckets {
			ask := ddb.Query{
				Table: tableReadings, Index: indexMetric,
				Key:       ddb.Keys{Hash: attrMetricType, Sort: attrMetricTime},
				Partition: join(t.Key, name, strconv.Itoa(n)), From: from, To: to,
				Page: pageOf(q.Limit, metricBuckets),
			}
			all = append(all, ddb.Rows(s.db, ask, readMessage))
		}
	}
	return all
}

// nextMessages returns the messages of up to n readings, those of one device and time together.
func nextMessages(
	ctx context.Context, streams []*shared.Rows[message], n int,
) (found [][]message, err error) {
	err = shared.Parallel(ctx, len(streams), func(ctx context.Context, i int) error {
		_, err := streams[i].Head(ctx)
		return err
	})
	for err == nil && len(found) < n {
		var last string
		for _, rows := range streams {
			head, failed := rows.Head(ctx)
			err = errors.Join(err, failed)
			if head != nil {
				last = max(last, head.place)
			}
		}
		if last == "" || err != nil {
			break
		}
		var of []message
		for _, rows := range streams {
			for {
				head, failed := rows.Head(ctx)
				err = errors.Join(err, failed)
				if head == nil || head.place != last {
					break
				}
				of = append(of, rows.Take())
			}
		}
		found = append(found, of)
	}
	return found, err
}

// stillOf leaves out messages of an earlier incarnation of their device.
func (s *Store) stillOf(
	ctx context.Context, t *tenant, found [][]message,
) (kept [][]message, err error) {
	ids := make([]andon.DeviceID, len(found))
	for i, of := range found {
		ids[i] = of[0].Device
	}
	all, err := s.readDevices(ctx, t, shared.Distinct(ids))
	if err != nil {
		return nil, err
	}
	rows := map[andon.DeviceID]string{}
	for _, d := range all {
		rows[d.ID] = d.rows(t)
	}
	for _, of := range found {
		of = slices.DeleteFunc(of, func(m message) bool {
			shard, is := strings.CutPrefix(m.partition, rows[m.Device])
			return !is || shard != "" && !strings.HasPrefix(shard, "#shard")
		})
		if len(of) > 0 {
			kept = append(kept, of)
		}
	}
	return kept, nil
}

// list writes which metrics are listed, where that was another list. Where the table was just
// created all readings will have the keys.
func (o Options) list(ctx context.Context, p *provision.Setup, remove bool) error {
	records := o.Prefix + tableRecords
	stored, err := p.Get(ctx, records, listedKey())
	is := metricsListed{list: strings.Join(o.MetricIndex, ",")}
	switch {
	case err != nil || is.list == readListed(stored).list:
		return err
	case is.list == "" && !remove:
		return nil // Spare notes that the index exists
	case !p.Created(o.Prefix + tableReadings):
		is.from = o.Now().Add(untilAllWrite)
		p.Note(indexMetric + " is used for readings from " + is.from.String() + " on: start all " +
			"processes with dynamodb.metric_index: " + cmp.Or(is.list, `""`) + " before")
	}
	i := listedKey()
	i.SetText(attrMetricList, is.list)
	i[attrMetricFrom] = ddb.Number(is.from)
	return p.Put(ctx, records, i)
}
