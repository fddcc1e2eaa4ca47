package reference

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
)

// Readings is a store on a table that was created from the guide to time series: layout timeseries.
//
//	deviceId  timestamp             temperature  humidity  metadata        ttl
//	s1        2025-12-04T12:34:56Z  21.5         40        {"fw": "1.2"}   1767443697
//
// DeviceLatestGSI is (deviceId, timestamp), and MetricGSI (metricType, timestamp); both are
// optional. A reading is written by UpdateItem, so that messages of one time are joined. Of the
// attributes of others those that are numbers are metrics, and no other is shown.
//
// Times that others wrote may have fractions of any length: "…56Z" sorts after "…56.5Z". So items
// are read in the order of the table, and those of one second are sorted.
type Readings struct{ *base }

// ReservedMetrics are names that no metric may have, since the table has other attributes so.
const ReservedMetrics = items.AttrReadingOf + "," + items.AttrTimestamp + "," +
	items.AttrMetadata + "," + items.AttrTTL + "," + items.AttrMetricType

// ReadingsTable returns the table of the layout timeseries.
func ReadingsTable(o Options) ddb.Table {
	t := ddb.Table{Name: o.Table, Key: items.ReadingKeys(), TTL: items.AttrTTL,
		What: "The readings as the guide to time series has them."}
	if o.Retention == andon.Forever {
		t.TTL = ""
	}
	if o.LatestIndex {
		t.Indexes = append(t.Indexes, ddb.Index{Name: items.IndexLatest, Key: t.Key, All: true,
			What: "The readings once more, for newest ones that many ask for."})
	}
	if o.Metric != "" {
		t.Indexes = append(t.Indexes, ddb.Index{Name: items.IndexMetric,
			Key:      ddb.Keys{Hash: items.AttrMetricType, Sort: items.AttrTimestamp},
			Projects: []string{string(o.Metric)},
			What:     "Readings that have the metric, of all devices by time."})
	}
	return t
}

// NewReadings returns the store of a table. own serves what concerns no readings.
func NewReadings(db *ddb.Client, o Options, own andon.Store) andon.Store {
	return &Readings{newBase(db, o, own, ReadingsTable(o), true, timeOf)}
}

// Capabilities implements andon.Store.
func (r *Readings) Capabilities() andon.Capabilities {
	return andon.Capabilities{Name: "dynamodb, layout timeseries", Durable: true, Explain: true,
		Consistency: true, SlowExpiry: r.Retention != andon.Forever,
		MetricReadings: r.Metric != "", ReservedMetrics: ReservedMetrics}
}

// AppendReadings implements andon.Readings. Each time of a device is an UpdateItem of its own.
func (r *Readings) AppendReadings(
	ctx context.Context, id andon.TenantID, _ andon.Time, readings []andon.Reading,
) error {
	if err := r.checkTenant(ctx, id); err != nil {
		return err
	}
	all := shared.JoinReadings(readings, byTime(andon.Asc))
	return shared.Parallel(ctx, len(all), func(ctx context.Context, n int) error {
		i, set := r.ReadingItem(&all[n])
		return r.db.Update(ctx, r.Table, i, set, "")
	})
}

// ReadingItem returns the key of a reading, and its attributes.
func (r *Options) ReadingItem(one *andon.Reading) (key, set ddb.Item) {
	set = ddb.Item{}
	set.SetNumbers(one.Metrics)
	if _, has := one.Metrics.Get(r.Metric); has {
		set.SetText(items.AttrMetricType, string(r.Metric))
	}
	set.SetText(items.AttrMetadata, string(one.Metadata))
	items.Expiry(r.Retention).Set(set, one.Time)
	return items.ReadingKeys().Item(string(one.Device), one.Time.String()), set
}

func timeOf(i ddb.Item) (_ andon.Time, ok bool) {
	at, err := andon.ParseTime(i.Text(items.AttrTimestamp))
	return at, err == nil
}

// readReading reads an item; not ok: it is none. Metadata that is no object is a member of one.
func readReading(i ddb.Item) (r andon.Reading, ok bool, err error) {
	if r.Time, ok = timeOf(i); !ok {
		return r, false, nil
	}
	r.Device = andon.DeviceID(i.Text(items.AttrReadingOf))
	if r.Metrics, err = i.Numbers(); err != nil {
		return r, false, err
	}
	r.Metrics = slices.DeleteFunc(r.Metrics, func(m andon.Metric) bool {
		return m.Name == items.AttrTTL
	})
	if text := i.Text(items.AttrMetadata); text != "" {
		if r.Metadata = andon.JSON(text); text[0] != '{' || !json.Valid([]byte(text)) {
			quoted, _ := json.Marshal(map[string]string{items.AttrMetadata: text})
			r.Metadata = andon.JSON(quoted)
		}
	}
	return r, len(r.Metrics) > 0, nil
}

// second is how the times of a second begin in the table.
func second(t andon.Time) string { return t.Std().UTC().Format("2006-01-02T15:04:05") }

// instants returns the readings of a partition of the table or an index in a span, those of one
// time and device joined, in an order: those of one time by device.
func (r *Readings) instants(
	ctx context.Context, q ddb.Query, span andon.Span,
) iter.Seq2[andon.Reading, error] {
	q.From, q.To = second(span.From), "~" // after all digits and letters
	if span.To != 0 {
		q.To = second(span.To) + "~"
	}
	return seq.Of(func(yield func(andon.Reading) bool) error {
		if span.Empty() {
			return nil
		}
		var same []andon.Reading // of one second
		sorted := func() bool {
			for _, one := range shared.JoinReadings(same, byTime(q.Order)) {
				if !yield(one) {
					return false
				}
			}
			same = same[:0]
			return true
		}
		for one, err := range ddb.Rows(r.db, q, readReading).Each(ctx) {
			if err != nil {
				return err
			}
			if len(same) > 0 && same[0].Time/1e6 != one.Time/1e6 {
				if !sorted() {
					return nil
				}
			}
			if span.Holds(one.Time) {
				same = append(same, one)
			}
		}
		sorted()
		return nil
	})
}

// byTime compares readings by time in an order, and then by device.
func byTime(order andon.Order) func(a, b andon.Reading) int {
	return func(a, b andon.Reading) int {
		by := cmp.Compare(a.Time, b.Time)
		if order == andon.Desc {
			by = -by
		}
		return cmp.Or(by, cmp.Compare(a.Device, b.Device))
	}
}

func (r *Readings) ofDevice(
	ctx context.Context, device andon.DeviceID, index string, order andon.Order, span andon.Span,
	limit int,
) iter.Seq2[andon.Reading, error] {
	return r.instants(ctx, ddb.Query{Table: r.Table, Index: index, Key: items.ReadingKeys(),
		Partition: string(device), Order: order, Page: items.PageOf(limit, 1)}, span)
}

// DeviceReadings implements andon.Readings.
func (r *Readings) DeviceReadings(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	ctx = ddb.ForAnswer(ctx, r.Eventual)
	all := r.ofDevice(ctx, device, "", q.Order, q.Rest(), q.Limit)
	return seq.Of(func(yield func(andon.Reading) bool) error {
		if err := r.checkTenant(ctx, id); err != nil {
			return err
		}
		return seq.Yield(shared.Measured(q, all), yield)
	})
}

// LatestReadings implements andon.Readings. DeviceLatestGSI answers what may be eventual.
func (r *Readings) LatestReadings(
	ctx context.Context, id andon.TenantID, devices []andon.DeviceID, from andon.Time,
) ([]andon.Reading, error) {
	if err := r.checkTenant(ctx, id); err != nil {
		return nil, err
	}
	ctx, index := ddb.ForAnswer(ctx, r.Eventual), ""
	if r.LatestIndex && ddb.IsEventual(ctx) {
		index = items.IndexLatest
	}
	return shared.Found(ctx, shared.Distinct(devices),
		func(ctx context.Context, device andon.DeviceID) (*andon.Reading, error) {
			for one, err := range r.ofDevice(ctx, device, index, andon.Desc,
				andon.Span{From: from}, 1) {
				return &one, err
			}
			return nil, nil
		})
}

// MetricReadings implements andon.Readings, of the one metric that MetricGSI has, by time.
func (r *Readings) MetricReadings(
	ctx context.Context, id andon.TenantID, q andon.MetricQuery,
) iter.Seq2[andon.MetricReading, error] {
	return seq.Of(func(yield func(andon.MetricReading) bool) error {
		err := r.checkTenant(ctx, id)
		if err == nil && q.Metric != r.Metric {
			err = unservedHere("a metric across devices that dynamodb.metric_index does not name")
		}
		if err == nil {
			err = ddb.ByIndex(ctx, "the readings of a metric")
		}
		if err != nil {
			return err
		}
		yield, span := seq.UpTo(q.Limit, yield), q.Span
		if q.After != nil {
			span = span.Until(q.After.Time)
		}
		found := r.instants(ddb.Eventually(ctx), ddb.Query{
			Table: r.Table, Index: items.IndexMetric, Order: andon.Desc,
			Key:       ddb.Keys{Hash: items.AttrMetricType, Sort: items.AttrTimestamp},
			Partition: string(q.Metric), Page: items.PageOf(q.Limit, 1),
		}, span)
		for one, err := range found {
			if err != nil {
				return err
			}
			value, has := one.Metrics.Get(q.Metric)
			before := q.After != nil && one.Time == q.After.Time && one.Device <= q.After.Device
			if !has || before {
				continue
			}
			if !yield(andon.MetricReading{
				Device: one.Device, Time: one.Time, Value: value, ByTime: true,
			}) {
				return nil
			}
		}
		return nil
	})
}
