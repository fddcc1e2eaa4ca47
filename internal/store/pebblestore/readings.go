package pebblestore

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/seq"
)

// AppendReadings is of andon.Readings.
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
	var value []byte
	for i := range readings {
		r := &readings[i]
		value = appendReading(value[:0], r.Metrics, r.Metadata)
		if err := w.batch.Merge(readingKey(t.number, r.Device, r.Time), value, nil); err != nil {
			return err
		}
		if err := w.reading(r); err != nil {
			return err
		}
	}
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

// reading enters a reading's day and metrics in their tables, unless that was done before.
func (w *writing) reading(r *andon.Reading) error {
	w.key = w.key.begin(tableReadingDay, w.tenant.number).
		text(string(r.Device)).inverted(r.Time.Day())
	if err := w.once(); err != nil {
		return err
	}
	for _, metric := range r.Metrics {
		w.key = w.key.begin(tableMetric, w.tenant.number).
			text(string(metric.Name)).text(string(r.Device))
		if err := w.once(); err != nil {
			return err
		}
	}
	return nil
}

// DeviceReadings is of andon.Readings.
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

// readingScan reads the readings of any number of devices of a tenant, with two iterators.
type readingScan struct {
	*iterator
	tenant    uint32
	directory *directory
}

func (s *Store) newReadingScan(ctx context.Context, t *tenant) (*readingScan, error) {
	directory, err := newDirectory(ctx, s.db, t, tableReadingDay)
	if err != nil {
		return nil, err
	}
	k := newKey(tableReading, t.number)
	it, err := newIterator(ctx, s.db, k, k.end())
	if err != nil {
		directory.close()
		return nil, err
	}
	return &readingScan{it, t.number, directory}, nil
}

func (s *readingScan) close() {
	s.iterator.close()
	s.directory.close()
}

// device returns the readings of one device that a query selects.
func (s *readingScan) device(
	device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	span := q.Rest()
	return seq.Of(func(yield func(andon.Reading) bool) error {
		if span.Empty() {
			return nil
		}
		yield = seq.UpTo(q.Limit, yield)
		days := newKey(tableReadingDay, s.tenant).text(string(device))
		for day, err := range s.directory.days(days, span, q.Order) {
			if err != nil {
				return err
			}
			for r, err := range s.day(device, day, span, q.Order) {
				if err != nil {
					return err
				}
				r.Metrics = r.Metrics.Only(q.Metrics)
				if (len(r.Metrics) > 0 || len(q.Metrics) == 0) && !yield(r) {
					return nil
				}
			}
		}
		return nil
	})
}

// day returns the readings of a device and day.
func (s *readingScan) day(
	device andon.DeviceID, day uint32, span andon.Span, order andon.Order,
) iter.Seq2[andon.Reading, error] {
	prefix := newKey(tableReading, s.tenant).number(day).text(string(device))
	return seq.Of(func(yield func(andon.Reading) bool) error {
		ok, move := false, s.Next
		if order == andon.Desc {
			ok = s.SeekGE(prefix.invertedTime(andon.Earlier(span.To, andon.MaxTime)))
		} else {
			move = s.Prev
			ok = s.SeekLT(prefix.invertedTime(max(span.From, 1) - 1))
		}
		for ; ok && bytes.HasPrefix(s.Key(), prefix); ok = move() {
			r, err := s.reading(device, len(prefix))
			if err != nil || !span.Holds(r.Time) || !yield(r) {
				return err
			}
		}
		return s.Error()
	})
}

func (s *readingScan) reading(device andon.DeviceID, prefix int) (r andon.Reading, err error) {
	at, rest, ok := takeInvertedTime(s.Key()[prefix:])
	if !ok || len(rest) != 0 {
		return r, errDamaged
	}
	value, err := s.ValueAndErr()
	if err != nil {
		return r, fmt.Errorf("read reading: %w", err)
	}
	r.Device, r.Time = device, at
	r.Metrics, r.Metadata, err = readReading(value)
	return r, err
}

// LatestReadings is of andon.Readings.
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
	latest := make([]andon.Reading, 0, len(devices))
	met := make(map[andon.DeviceID]bool, len(devices))
	for _, device := range devices {
		if met[device] {
			continue
		}
		met[device] = true
		q := andon.ReadingQuery{Span: andon.Span{From: from}, Limit: 1}
		for r, err := range scan.device(device, q) {
			if err != nil {
				return nil, err
			}
			latest = append(latest, r)
		}
	}
	return latest, nil
}

// MetricReadings is of andon.Readings. Its devices are in ascending order.
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
	prefix := newKey(tableMetric, t.number).text(string(q.Metric))
	from, behind := []byte(prefix), prefix.end()
	if q.After != nil {
		from = prefix.text(string(q.After.Device))
	}
	return seq.Of(func(yield func(andon.DeviceID) bool) error {
		it, err := newIterator(ctx, s.db, from, behind)
		if err != nil {
			return err
		}
		defer it.close()
		for ok := it.First(); ok; ok = it.Next() {
			device, _, ok := takeText(it.Key()[len(prefix):])
			if !ok {
				return errDamaged
			}
			if !yield(andon.DeviceID(device)) {
				return nil
			}
		}
		return it.Error()
	})
}
