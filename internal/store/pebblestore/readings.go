package pebblestore

import (
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
	generation, number, end, err := s.readings.Write(ctx, len(readings))
	if err != nil {
		return err
	}
	w.readings(generation, number, readings)
	defer end(w.batch.Len())
	w.fold = func(int, *current.Device) error { return nil } // but the arrival, as of all writes
	err = w.run(devices)
	measured := func(r andon.Reading) bool { return len(r.Metrics) > 0 }
	if err == nil && !t.hadReadings.Load() && slices.ContainsFunc(readings, measured) {
		t.hadReadings.Store(true)
	}
	return err
}

// known returns the devices of readings that there are, each once: readings keep a device from
// being silent, but make none.
func (s *Store) known(t *tenant, readings []andon.Reading) (devices []andon.DeviceID) {
	met := make(map[andon.DeviceID]bool, len(readings))
	const step = 256 // readings in one go, so that what is shown is not held up
	for part := range slices.Chunk(readings, step) {
		s.mu.RLock()
		for i := range part {
			id := part[i].Device
			if !met[id] && t.fleet.Slot(id) != nil {
				devices = append(devices, id)
			}
			met[id] = true
		}
		s.mu.RUnlock()
	}
	return devices
}

// readings puts rows of readings into the batch, in a generation, from a number on.
func (w *writing) readings(generation, number uint64, readings []andon.Reading) {
	for i := range readings {
		r := &readings[i]
		w.value = layout.AppendReading(w.value[:0], r.Metrics, r.Metadata)
		w.key = w.key.Begin(layout.TableReading, w.tenant.number).
			Reading(generation, r.Device, r.Time, number+uint64(i))
		w.batch.Put(w.key, w.value)
		w.reading(r)
	}
}

// reading enters a reading's day and metrics in their tables, unless that was done before.
func (w *writing) reading(r *andon.Reading) {
	w.key = w.key.Begin(layout.TableReadingDay, w.tenant.number).
		Text(string(r.Device)).Inverted(r.Time.Day())
	w.once()
	for _, metric := range r.Metrics {
		w.key = w.key.Begin(layout.TableMetric, w.tenant.number).
			Text(string(metric.Name)).Text(string(r.Device))
		w.once()
	}
}

// DeviceReadings implements andon.Readings.
func (s *Store) DeviceReadings(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Reading) bool) error {
		scan, err := s.readings.NewScan(ctx, t.readings)
		if err != nil {
			return err
		}
		defer scan.Close()
		return seq.Yield(scan.Device(device, q), yield)
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
	scan, err := s.readings.NewScan(ctx, t.readings)
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	return scan.Latest(devices, from)
}

// MetricReadings implements andon.Readings. Its devices are in ascending order.
func (s *Store) MetricReadings(
	ctx context.Context, id andon.TenantID, q andon.MetricQuery,
) iter.Seq2[andon.MetricReading, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.MetricReading) bool) error {
		scan, err := s.readings.NewScan(ctx, t.readings)
		if err != nil {
			return err
		}
		defer scan.Close()
		yield = seq.UpTo(q.Limit, yield)
		prefix := layout.NewKey(layout.TableMetric, t.number).Text(string(q.Metric))
		from := ""
		if q.After != nil {
			from = string(q.After.Device)
		}
		for name, err := range engine.Texts(ctx, s.db, prefix, from, true) {
			if err != nil {
				return err
			}
			device := andon.DeviceID(name.Name)
			for r, err := range scan.Device(device, q.ForDevice(device, q.Limit)) {
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
