package cassandrastore

import (
	"cmp"
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// AppendReadings implements andon.Readings.
func (s *Store) AppendReadings(
	ctx context.Context, id andon.TenantID, received andon.Time, readings []andon.Reading,
) error {
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	t, err := s.tenant(ctx, id)
	if err != nil || len(readings) == 0 {
		return err
	}
	readings = rows.WithKeys(t.Purged, readings, deviceOfReading)
	w := s.working.Load()
	messages := shared.JoinReadings(readings, func(a, b andon.Reading) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Time, b.Time))
	})
	var ids []andon.DeviceID
	for part := range shared.ByDevice(messages, deviceOfReading) {
		ids = append(ids, part[0].Device)
	}
	t, slots, err := s.take(ctx, t, ids...)
	if err != nil {
		return err
	}
	defer slots.Give()
	began := s.processes.Now()
	ctx, cancel := s.writing(ctx)
	defer cancel()
	stamp, index := s.stamp(), s.newIndexRows(t.Key, s.ttl(w.Readings))
	var all []cql.Mutation
	var heard []*view // by slot
	for part := range shared.ByDevice(messages, deviceOfReading) {
		all = append(all, rows.InsertReadings(t.Key, stamp, index, part)...)
		is := &view{}
		if v := slots.Slots[len(heard)].View; v != nil {
			is = v.clone()
		}
		is.hear(s.counts.Hear(t.Key, part[0].Device, received), stamp)
		heard = append(heard, is)
		all = append(all, cql.Mutation{
			rows.SetHeard(t.Key, part[0].Device, is.Received, is.heardStamp),
		})
	}
	err = index.Write(ctx, all...)
	if err == nil {
		err = s.processes.InTime(began, 0)
	}
	if err != nil {
		slots.Forget()
		return err
	}
	for i, slot := range slots.Slots {
		if slot.View != nil {
			slot.View = heard[i]
		}
	}
	return nil
}

func deviceOfReading(r *andon.Reading) *andon.DeviceID { return &r.Device }

// DeviceReadings implements andon.Readings.
func (s *Store) DeviceReadings(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return listIn(ctx, s, id, func(t *rows.Tenant) iter.Seq2[andon.Reading, error] {
		return s.rows.Readings(ctx, t, t.Purged.Key(device), q)
	})
}

// LatestReadings implements andon.Readings.
func (s *Store) LatestReadings(
	ctx context.Context, id andon.TenantID, devices []andon.DeviceID, from andon.Time,
) ([]andon.Reading, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	q := andon.ReadingQuery{Span: andon.Span{From: from}, Limit: 1}
	newest := func(ctx context.Context, device andon.DeviceID) (*andon.Reading, error) {
		for r, err := range s.rows.Readings(ctx, t, t.Purged.Key(device), q) {
			return &r, err
		}
		return nil, nil
	}
	return shared.Found(ctx, shared.Distinct(devices), newest)
}

// MetricReadings implements andon.Readings: bucket by bucket, and in each by device.
func (s *Store) MetricReadings(
	ctx context.Context, id andon.TenantID, q andon.MetricQuery,
) iter.Seq2[andon.MetricReading, error] {
	return listIn(ctx, s, id, func(t *rows.Tenant) iter.Seq2[andon.MetricReading, error] {
		q, from := q, andon.DeviceID("")
		if q.After != nil {
			after := *q.After
			from = t.Purged.Key(after.Device)
			after.Device, q.After = from, &after
		}
		devices := s.measuring(ctx, t, q.Metric, from)
		return seq.First(q.Limit, seq.Join(devices, func(
			device andon.DeviceID,
		) iter.Seq2[andon.MetricReading, error] {
			found := s.rows.Readings(ctx, t, device, q.ForDevice(device, q.Limit))
			return seq.Map(found, func(r andon.Reading) andon.MetricReading {
				value := r.Metrics[0].Value
				return andon.MetricReading{Device: r.Device, Time: r.Time, Value: value}
			})
		}))
	})
}

// measuring returns the devices that may have a metric, bucket by bucket, from one on.
func (s *Store) measuring(
	ctx context.Context, t *rows.Tenant, metric andon.MetricName, from andon.DeviceID,
) iter.Seq2[andon.DeviceID, error] {
	ask := cql.Ask("SELECT device FROM devices_by_metric "+
		"WHERE tenant = ? AND metric = ? AND bucket = ? AND device >= ?", 3)
	first := 0
	if from != "" {
		first = rows.Bucket(string(from))
	}
	return seq.Of(func(yield func(andon.DeviceID) bool) error {
		for bucket := first; bucket < rows.Buckets; bucket++ {
			args := []any{t.Key, string(metric), bucket, string(from)}
			for name, err := range cql.Pages(s.db, ask, args, 100, cql.Text).Each(ctx) {
				device := andon.DeviceID(name)
				if err != nil || t.Purged.Present(device) && !yield(device) {
					return err
				}
			}
			from = ""
		}
		return nil
	})
}
