package dynamostore

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
)

// AppendReadings implements andon.Readings.
func (s *Store) AppendReadings(
	ctx context.Context, id andon.TenantID, received andon.Time, readings []andon.Reading,
) error {
	of := map[andon.DeviceID][]message{}
	for i := range readings {
		r := &readings[i]
		of[r.Device] = append(of[r.Device], message{Reading: *r, Delivery: s.stamp()})
	}
	ids := slices.Sorted(maps.Keys(of))
	if len(ids) == 1 {
		k := shared.DeviceKey{Tenant: string(id), Device: ids[0]}
		r := &sent[message]{received: received, all: of[ids[0]]}
		return joining(ctx, s, &s.measures, k, r, s.measuring)
	}
	return s.following(ctx, id, func(t *tenant) error {
		var all []deviceWrite
		for _, id := range ids {
			all = append(all, s.measuring(received, of[id]))
		}
		return s.writeDevices(ctx, t, ids, all)
	})
}

func (s *Store) measuring(received andon.Time, all []message) deviceWrite {
	return &measuring{store: s, received: received, messages: all}
}

type measuring struct {
	store    *Store
	received andon.Time

	messages    []message
	shards      int   // that they are in
	incarnation int64 // of the device, that they are in
}

// fold notes in the device when it was last heard. If it was purged meanwhile its messages are
// written again.
func (a *measuring) fold(ctx context.Context, d *device) error {
	if d.Incarnation != a.incarnation {
		if err := a.store.writeRows(ctx, a, d); err != nil {
			return err
		}
	}
	d.Received = andon.Heard(d.Received, a.received)
	d.Shards = max(d.Shards, a.shards)
	d.Measures(a.messages)
	return nil
}

// rows returns the items of the messages of a device, of the same message twice the later, and adds
// the index rows that they need. It reads nothing, so there is no error.
func (a *measuring) rows(
	_ context.Context, d *device, index items.IndexRows,
) (all []ddb.Write, err error) {
	if a.shards == 0 {
		a.shards = a.store.shardsFor(d, items.UnitsOfMessages(a.messages))
	}
	a.incarnation, a.shards = d.Incarnation, max(a.shards, d.Partitions())
	at := map[string]int{}
	for n, one := range a.messages {
		i := one.Item(d, a.shards, items.Expiry(a.store.options.ReadingsRetention),
			&a.store.options.ReadingIndexes)
		listed := a.store.options.Listed(&one)
		a.store.indexed(d.Tenant, items.Named{Of: items.OfMetric, Name: listed},
			items.UnitsOfMessages(a.messages[n:n+1]))
		w := ddb.Write{Table: items.TableReadings, Put: i}
		if same, ok := at[i.Text(items.AttrTimestamp)]; ok {
			all[same] = w
			continue
		}
		at[i.Text(items.AttrTimestamp)] = len(all)
		all = append(all, w)
		index.Metrics(d, &one)
	}
	return all, nil
}

// messages returns the readings of a device that a query selects by time, joined, in its order,
// and does not stop at the limit.
func (s *Store) messages(
	ctx context.Context, d *device, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return seq.Map(s.instants(ctx, d, q, ""), items.Joined)
}

// instants returns the messages of a device, those of one time together, from the table or an
// index.
func (s *Store) instants(
	ctx context.Context, d *device, query andon.ReadingQuery, index string,
) iter.Seq2[[]message, error] {
	var all []ddb.Query
	span := query.Rest()
	if span.Empty() || !d.Known() {
		return func(func([]message, error) bool) {}
	}
	for _, part := range d.Parts() {
		from, to := items.TimeBounds(span)
		all = append(all, ddb.Query{
			Table: items.TableReadings, Index: index, Key: items.ReadingKeys(), Partition: part,
			Order: query.Order, From: from, To: to, Page: items.PageOf(query.Limit, d.Partitions()),
		})
	}
	rows := ddb.RowsOf(s.db, all, items.ReadMessage)
	return shared.Merge(ctx, (*message).Micros, query.Order, rows...)
}

// DeviceReadings implements andon.Readings.
func (s *Store) DeviceReadings(
	ctx context.Context, owner andon.TenantID, id andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	ctx = s.forReadings(ctx)
	return listOfDevice(ctx, s, owner, id, func(d *device, yield func(andon.Reading) bool) error {
		return seq.Yield(shared.Measured(q, s.messages(ctx, d, q)), yield)
	})
}

// newestReading returns the newest reading of a device not before a time; nil where there is none.
func (s *Store) newestReading(
	ctx context.Context, d *device, from andon.Time,
) (*andon.Reading, error) {
	if ddb.IsEventual(ctx) && s.options.LatestIndex != items.ProjectsNone {
		if r, ok, err := s.latestByIndex(ctx, d, from); ok || err != nil {
			return r, err
		}
	}
	q := andon.ReadingQuery{Span: andon.Span{From: from}, Limit: 1}
	for r, err := range s.messages(ctx, d, q) {
		return &r, err
	}
	return nil, nil
}

// LatestReadings implements andon.Readings: a query of each device, concurrently.
func (s *Store) LatestReadings(
	ctx context.Context, id andon.TenantID, devices []andon.DeviceID, from andon.Time,
) ([]andon.Reading, error) {
	ctx = s.forReadings(ctx)
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := s.readDevices(ctx, t, shared.Distinct(devices))
	if err != nil {
		return nil, err
	}
	return shared.Found(ctx, all, func(ctx context.Context, d *device) (*andon.Reading, error) {
		return s.newestReading(ctx, d, from)
	})
}

// MetricReadings implements andon.Readings: by time from MetricGSI where the query and the settings
// allow it, and else device by device.
func (s *Store) MetricReadings(
	ctx context.Context, id andon.TenantID, q andon.MetricQuery,
) iter.Seq2[andon.MetricReading, error] {
	ctx = s.forReadings(ctx)
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.MetricReading) bool) error {
		place, err := s.metricPlace(ctx, &q)
		if err != nil {
			return err
		}
		if place >= 0 {
			return s.metricByTime(ctx, t, q, place, yield)
		}
		if q.After != nil && q.After.ByTime {
			return andon.Errorf(andon.Conflict, "this list was begun by the index %s, which does "+
				"not answer it any more: begin again without the cursor", items.IndexMetric)
		}
		var all []ddb.Query
		for n := range items.Buckets {
			ask := items.Records(items.MetricKey(t, q.Metric, strconv.Itoa(n)))
			ask.Order, ask.Page = andon.Asc, min(q.Limit, 256)
			if q.After != nil {
				ask.From = string(q.After.Device)
			}
			all = append(all, ask)
		}
		streams := ddb.RowsOf(s.db, all, deviceIn(items.AttrSort))
		size := func() int { return min(q.Limit, ddb.MaxGets) }
		found := seq.Pieces(size, shared.IDs(ctx, "", streams...))
		return seq.Yield(seq.First(q.Limit, s.metric(ctx, t, q, found)), yield)
	})
}

func (s *Store) metric(
	ctx context.Context, t *tenant, q andon.MetricQuery, found iter.Seq2[[]andon.DeviceID, error],
) iter.Seq2[andon.MetricReading, error] {
	devices := seq.Join(found, func(ids []andon.DeviceID) iter.Seq2[*device, error] {
		return seq.List(func() ([]*device, error) { return s.readDevices(ctx, t, ids) })
	})
	return seq.Join(devices, func(d *device) iter.Seq2[andon.MetricReading, error] {
		of := q.ForDevice(d.ID, q.Limit)
		all := shared.Measured(of, s.messages(ctx, d, of))
		return seq.Map(all, func(r andon.Reading) andon.MetricReading {
			return andon.MetricReading{Device: d.ID, Time: r.Time, Value: r.Metrics[0].Value}
		})
	})
}
