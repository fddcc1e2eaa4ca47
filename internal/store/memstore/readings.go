package memstore

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
)

// AppendReadings keeps readings; those of one device and time join.
func (s *Store) AppendReadings(
	ctx context.Context, id andon.TenantID, received andon.Time, readings []andon.Reading,
) error {
	return s.write(ctx, id, 0, func(t *tenant) error {
		for i := range readings {
			d := t.device(readings[i].Device)
			t.hadReadings = t.hadReadings || len(readings[i].Metrics) > 0
			d.measure(cloneReading(d.id, readings[i]))
			d.hear(received)
		}
		return nil
	})
}

// measure puts a reading into its place, or joins it to the one that is there.
func (d *device) measure(r andon.Reading) {
	for _, m := range r.Metrics {
		d.metrics[m.Name] = true
	}
	byTime := func(have andon.Reading, t andon.Time) int { return cmp.Compare(have.Time, t) }
	i, there := slices.BinarySearchFunc(d.readings, r.Time, byTime)
	if !there {
		d.readings = slices.Insert(d.readings, i, r)
		return
	}
	have := &d.readings[i]
	have.Metrics = have.Metrics.Join(r.Metrics)
	have.Metadata = cmp.Or(r.Metadata, have.Metadata)
}

// DeviceReadings returns readings of a device by time.
func (s *Store) DeviceReadings(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return list(ctx, s, id, func(t *tenant) []andon.Reading {
		var found []andon.Reading
		for _, d := range t.known(device) {
			found = d.measured(q)
		}
		return firstOf(found, q.Limit)
	})
}

// measured returns the readings that a query selects, in its order.
func (d *device) measured(q andon.ReadingQuery) []andon.Reading {
	var found []andon.Reading
	page := andon.PageQuery{Order: q.Order, After: q.After}
	for _, r := range d.readings {
		r.Metrics = slices.Clone(r.Metrics.Only(q.Metrics))
		named := len(q.Metrics) == 0 || len(r.Metrics) > 0
		if named && q.Span.Holds(r.Time) && page.Admits(r.Time) {
			found = append(found, r)
		}
	}
	if q.Order == andon.Desc {
		slices.Reverse(found)
	}
	return found
}

// LatestReadings returns the newest reading of each device, in the order in which they are named.
func (s *Store) LatestReadings(
	ctx context.Context, id andon.TenantID, devices []andon.DeviceID, from andon.Time,
) ([]andon.Reading, error) {
	return ask(ctx, s, id, func(t *tenant) (found []andon.Reading, err error) {
		since := andon.ReadingQuery{Span: andon.Span{From: from}}
		named := map[andon.DeviceID]bool{}
		for _, d := range t.known(devices...) {
			if !named[d.id] {
				found = append(found, firstOf(d.measured(since), 1)...)
			}
			named[d.id] = true
		}
		return found, nil
	})
}

// MetricReadings returns one metric across devices: the devices by id, within one newest first.
func (s *Store) MetricReadings(
	ctx context.Context, id andon.TenantID, q andon.MetricQuery,
) iter.Seq2[andon.MetricReading, error] {
	return list(ctx, s, id, func(t *tenant) []andon.MetricReading {
		var found []andon.MetricReading
		for _, d := range t.sorted() {
			found = append(found, d.metric(q)...)
		}
		return firstOf(found, q.Limit)
	})
}

// metric returns what a query selects of one device, newest first.
func (d *device) metric(q andon.MetricQuery) []andon.MetricReading {
	if q.After != nil && d.id < q.After.Device {
		return nil
	}
	var found []andon.MetricReading
	for _, r := range d.measured(q.ForDevice(d.id, q.Limit)) {
		found = append(found, andon.MetricReading{
			Device: d.id, Time: r.Time, Value: r.Metrics[0].Value,
		})
	}
	return found
}

// cloneReading copies what may be part of a caller's buffer.
func cloneReading(id andon.DeviceID, r andon.Reading) andon.Reading {
	r.Device, r.Metrics, r.Metadata = id, slices.Clone(r.Metrics), clone(r.Metadata)
	for i := range r.Metrics {
		r.Metrics[i].Name = clone(r.Metrics[i].Name)
	}
	return r
}
