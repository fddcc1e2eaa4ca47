package pebblestore

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// AppendReadings implements andon.Readings.
func (s *Store) AppendReadings(
	ctx context.Context, id andon.TenantID, received andon.Time, readings []andon.Reading,
) error {
	t, err := s.writable(ctx, id)
	if err != nil || len(readings) == 0 {
		return err
	}
	const readingBytes = 96
	devices := s.known(t, readings)
	w, err := s.newWrite(ctx, t, received, len(devices), len(readings)*readingBytes+256)
	if err != nil {
		return err
	}
	defer w.close()
	if err := s.measure.turn.RLock(ctx); err != nil {
		return err
	}
	defer s.measure.turn.RUnlock()
	if err := w.readings(readings); err != nil {
		return err
	}
	defer s.measure.grow(s, w.batch.Len())
	w.fold = func(int, *current.Device) error { return nil } // but the arrival, as of all writes
	w.add(devices)
	err = w.foldAll()
	if err == nil {
		err = s.commit(w)
	}
	measured := func(r andon.Reading) bool { return len(r.Metrics) > 0 }
	if err == nil && !t.hadReadings.Load() && slices.ContainsFunc(readings, measured) {
		t.hadReadings.Store(true)
	}
	return err
}

// known returns the devices of readings that there are, each once: readings keep a device from
// being silent, but make none.
func (s *Store) known(t *tenant, readings []andon.Reading) (devices []andon.DeviceID) {
	met := map[andon.DeviceID]bool{}
	for i := range readings {
		id := readings[i].Device
		if met[id] {
			continue
		}
		met[id] = true
		s.mu.RLock()
		there := t.fleet.Slot(id) != nil
		s.mu.RUnlock()
		if there {
			devices = append(devices, id)
		}
	}
	return devices
}

// readings puts rows of readings into the batch, in the generation of now.
func (w *writing) readings(readings []andon.Reading) error {
	generation := w.store.measure.generation.Load()
	for i := range readings {
		r := &readings[i]
		w.value = layout.AppendReading(w.value[:0], r.Metrics, r.Metadata)
		w.key = w.key.Begin(layout.TableReading, w.tenant.number).
			Reading(generation, r.Device, r.Time)
		if err := w.batch.Merge(w.key, w.value, nil); err != nil {
			return err
		}
		if err := w.reading(r); err != nil {
			return err
		}
	}
	return nil
}

// reading enters a reading's day and metrics in their tables, unless that was done before.
func (w *writing) reading(r *andon.Reading) error {
	w.key = w.key.Begin(layout.TableReadingDay, w.tenant.number).
		Text(string(r.Device)).Inverted(r.Time.Day())
	if err := w.once(); err != nil {
		return err
	}
	for _, metric := range r.Metrics {
		w.key = w.key.Begin(layout.TableMetric, w.tenant.number).
			Text(string(metric.Name)).Text(string(r.Device))
		if err := w.once(); err != nil {
			return err
		}
	}
	return nil
}

// DeviceReadings implements andon.Readings.
func (s *Store) DeviceReadings(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Reading) bool) error {
		scan, err := s.newReadingScan(ctx, t)
		if err != nil {
			return err
		}
		defer scan.close()
		for r, err := range scan.device(device, q) {
			if err != nil || !yield(r) {
				return err
			}
		}
		return nil
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
	scan, err := s.newReadingScan(ctx, t)
	if err != nil {
		return nil, err
	}
	defer scan.close()
	latest := make([]andon.Reading, len(devices))
	last := andon.DeviceID("")
	for _, i := range turnsOf(len(devices), func(a, b int) int {
		return cmp.Or(cmp.Compare(devices[a], devices[b]), cmp.Compare(a, b))
	}) {
		if devices[i] == last {
			continue // each device once, where it is named first
		}
		last = devices[i]
		if latest[i], err = scan.newest(last, from); err != nil {
			return nil, err
		}
	}
	none := func(r andon.Reading) bool { return r.Device == "" }
	return slices.DeleteFunc(latest, none), nil
}

// newest returns the newest reading of a device from a time on, if it has one.
func (s *readingScan) newest(device andon.DeviceID, from andon.Time) (andon.Reading, error) {
	q := andon.ReadingQuery{Span: andon.Span{From: from}, Limit: 1}
	for r, err := range s.device(device, q) {
		return r, err
	}
	return andon.Reading{}, nil
}

// MetricReadings implements andon.Readings. Its devices are in ascending order.
func (s *Store) MetricReadings(
	ctx context.Context, id andon.TenantID, q andon.MetricQuery,
) iter.Seq2[andon.MetricReading, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.MetricReading) bool) error {
		scan, err := s.newReadingScan(ctx, t)
		if err != nil {
			return err
		}
		defer scan.close()
		yield = seq.UpTo(q.Limit, yield)
		for device, err := range s.metricDevices(ctx, t, q) {
			if err != nil {
				return err
			}
			for r, err := range scan.device(device, q.Of(device, q.Limit)) {
				if err != nil {
					return err
				}
				value, _ := r.Metrics.Get(q.Metric)
				if !yield(andon.MetricReading{Device: device, Time: r.Time, Value: value}) {
					return nil
				}
			}
		}
		return nil
	})
}

// metricDevices returns the devices that ever had a metric, from the query's position on.
func (s *Store) metricDevices(
	ctx context.Context, t *tenant, q andon.MetricQuery) iter.Seq2[andon.DeviceID, error] {
	prefix := layout.NewKey(layout.TableMetric, t.number).Text(string(q.Metric))
	from, behind := []byte(prefix), prefix.End()
	if q.After != nil {
		from = prefix.Text(string(q.After.Device))
	}
	return seq.Of(func(yield func(andon.DeviceID) bool) error {
		it, err := engine.NewIterator(ctx, s.db, from, behind)
		if err != nil {
			return err
		}
		defer it.Release()
		for ok := it.First(); ok; ok = it.Next() {
			device, _, ok := layout.TakeText(it.Key()[len(prefix):])
			if !ok {
				return layout.ErrDamaged
			}
			if !yield(andon.DeviceID(device)) {
				return nil
			}
		}
		return it.Error()
	})
}
