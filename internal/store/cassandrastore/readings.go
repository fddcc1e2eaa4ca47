package cassandrastore

import (
	"cmp"
	"context"
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared"
)

func packReading(stamp int64, r *andon.Reading) cql.Packed {
	metrics := binary.BigEndian.AppendUint32(nil, uint32(len(r.Metrics)))
	for _, m := range r.Metrics {
		metrics = cql.AppendText(metrics, string(m.Name))
		metrics = binary.BigEndian.AppendUint32(metrics, 8)
		metrics = binary.BigEndian.AppendUint64(metrics, math.Float64bits(m.Value))
	}
	b := cql.AppendBigint(nil, stamp)
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(metrics))), metrics...)
	return cql.AppendText(b, string(r.Metadata))
}

// reading (delivery bigint, metrics frozen<map<text, double>>, metadata text) is a message.
type reading struct {
	delivery int64
	metrics  andon.Metrics
	metadata string
}

// UnmarshalCQL implements gocql.Unmarshaler.
func (r *reading) UnmarshalCQL(_ cql.TypeInfo, b []byte) error {
	f := cql.Fields{Rest: b}
	*r = reading{delivery: f.Bigint()}
	inner := cql.Fields{Rest: f.Next()}
	r.metadata = f.Text()
	if len(inner.Rest) < 4 {
		return f.Err
	}
	n := binary.BigEndian.Uint32(inner.Rest)
	inner.Rest = inner.Rest[4:]
	for range n {
		m := andon.Metric{Name: andon.MetricName(inner.Text())}
		m.Value = math.Float64frombits(uint64(inner.Bigint()))
		if inner.Err != nil || m.Name == "" {
			return cql.ErrDamaged
		}
		r.metrics = append(r.metrics, m)
	}
	slices.SortFunc(r.metrics, func(a, b andon.Metric) int { return cmp.Compare(a.Name, b.Name) })
	return f.Err
}

// messageID tells the messages of one device and time apart.
func messageID(r *andon.Reading) []byte {
	return binary.BigEndian.AppendUint64(nil, shared.MessageHash(r))
}

// AppendReadings is of andon.Readings.
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
	ofReading := func(r *andon.Reading) *andon.DeviceID { return &r.Device }
	readings = inAll(t.purged, readings, ofReading)
	w := s.working.Load()
	messages := joinByTime(readings)
	slots, began, err := s.hearing(ctx, t, messages)
	if err != nil {
		return err
	}
	defer slots.Give()
	stamp, index := s.stamp(), s.newIndexRows(t.Key, s.ttl(w.Readings))
	var all []cql.Mutation
	for len(messages) > 0 {
		n := 1
		for n < len(messages) && messages[n].Device == messages[0].Device {
			n++
		}
		all = append(all, measure(t.Key, stamp, index, messages[:n])...)
		all = append(all, cql.One(
			"UPDATE latest_by_device USING TIMESTAMP ? SET heard = ? "+
				"WHERE tenant = ? AND device = ?",
			int64(received), int64(received), t.Key, string(messages[0].Device)))
		messages = messages[n:]
	}
	err = index.write(ctx, all...)
	if err == nil {
		err = s.inTime(began, s.processes.pace.MemberFor)
	}
	if err != nil {
		slots.Forget()
		return err
	}
	for _, slot := range slots.Slots {
		if slot.View != nil {
			slot.View.Received = max(slot.View.Received, received)
		}
	}
	for i := range readings {
		s.counts.Hear(t.Key, readings[i].Device, received)
	}
	return nil
}

// hearing takes the slots of devices that send readings: when they were heard is shown of them.
func (s *Store) hearing(
	ctx context.Context, t *tenant, messages []andon.Reading,
) (*taken, shared.Moment, error) {
	began := s.processes.now()
	var ids []andon.DeviceID
	for i := range messages {
		if i == 0 || messages[i].Device != messages[i-1].Device {
			ids = append(ids, messages[i].Device)
		}
	}
	slots, err := s.take(ctx, t.Key, ids...)
	return slots, began, err
}

// joinByTime joins the readings of one device and time, a later one's metrics replacing, and
// returns them by device and time.
func joinByTime(readings []andon.Reading) []andon.Reading {
	sorted := slices.Clone(readings)
	slices.SortStableFunc(sorted, func(a, b andon.Reading) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Time, b.Time))
	})
	joined := sorted[:0]
	for _, r := range sorted {
		if n := len(joined); n > 0 && joined[n-1].Device == r.Device && joined[n-1].Time == r.Time {
			have := &joined[n-1]
			have.Metrics = have.Metrics.Join(r.Metrics)
			have.Metadata = cmp.Or(r.Metadata, have.Metadata)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// measure writes the readings of one device: those of one day and shard in one piece.
func measure(
	tenant string, stamp int64, index *indexRows, readings []andon.Reading,
) (all []cql.Mutation) {
	type partition struct {
		day   uint32
		shard int
	}
	open := map[partition]int{}
	sizes := []int{}
	for i := range readings {
		r := &readings[i]
		p := partition{r.Time.Day(), readingShard(r.Time)}
		at, ok := open[p]
		if !ok || sizes[at] > pieceBytes || len(all[at]) >= pieceRows {
			at = len(all)
			open[p], all, sizes = at, append(all, nil), append(sizes, 0)
		}
		all[at] = append(all[at], cql.Do(
			"INSERT INTO readings_by_device (tenant, device, day, shard, time, message, reading) "+
				"VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ? AND TTL ?",
			tenant, string(r.Device), int(p.day), p.shard, int64(r.Time), messageID(r),
			packReading(stamp, r), stamp, index.ttl.seconds(r.Time)))
		sizes[at] += 64 + 32*len(r.Metrics) + len(r.Metadata)
		index.exists(ofReadings, string(r.Device), p.day, p.shard, "", r.Time)
		for _, m := range r.Metrics {
			index.metric(string(m.Name), string(r.Device), r.Time)
		}
	}
	index.device(string(readings[0].Device))
	return all
}

// readingShard is the shard of a reading: the quarter of its day, so that a device may have four
// readings a second before a partition has 100,000 rows.
func readingShard(at andon.Time) int { return int(at.Hour() % 24 / 6) }

type readingRow struct {
	time int64
	reading
}

func (r *readingRow) into() []any { return []any{&r.time, &r.reading} }

const readingColumns = "SELECT time, reading FROM readings_by_device " +
	"WHERE tenant = ? AND device = ? AND day = ? AND shard = ? AND time >= ? AND time <= ?"

var (
	readingsDown = cql.Ask(readingColumns, 4)
	readingsUp   = cql.Ask(readingColumns+" ORDER BY time ASC, message DESC", 4)
)

// join joins the messages of one time, the latest delivery last.
func join(device andon.DeviceID, rows []readingRow) andon.Reading {
	slices.SortStableFunc(rows, func(a, b readingRow) int {
		return cmp.Compare(a.delivery, b.delivery)
	})
	r := andon.Reading{Device: device, Time: andon.Time(rows[0].time)}
	for _, row := range rows {
		r.Metrics = r.Metrics.Join(row.metrics)
		r.Metadata = cmp.Or(andon.JSON(row.metadata), r.Metadata)
	}
	return r
}

// measured returns the readings of a device that a query selects.
func (s *Store) measured(
	ctx context.Context, t *tenant, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return seq.Of(func(yield func(andon.Reading) bool) error {
		span := q.Rest()
		if span.Empty() {
			return nil
		}
		yield = seq.UpTo(q.Limit, yield)
		to := lastUnit(span.To, andon.Time.Day)
		days := s.units(ctx, t.Key, ofReadings, string(device), span.From.Day(), to, q.Order)
		for u, err := range days {
			if err != nil {
				return err
			}
			for r, err := range s.measuredOn(ctx, t, device, u, span, q) {
				if err != nil {
					return err
				}
				r.Metrics = r.Metrics.Only(q.Metrics)
				if (len(q.Metrics) == 0 || len(r.Metrics) > 0) && !yield(r) {
					return nil
				}
			}
		}
		return nil
	})
}

// measuredOn returns the readings of one day, quarter by quarter.
func (s *Store) measuredOn(
	ctx context.Context, t *tenant, device andon.DeviceID, u unit, span andon.Span,
	q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	ask := readingsDown
	shards := slices.Clone(u.shards)
	if q.Order == andon.Asc {
		ask = readingsUp
	} else {
		slices.Reverse(shards)
	}
	if span.To == 0 {
		span.To = andon.MaxTime
	}
	at := func(r *readingRow) int64 { return r.time }
	return seq.Of(func(yield func(andon.Reading) bool) error {
		for _, shard := range shards {
			args := []any{t.Key, string(device), int(u.number), shard,
				int64(span.From), int64(span.To)}
			size := min(max(q.Limit+1, 10), 500)
			one := []*shared.Rows[readingRow]{cql.Pages(s.db, ask, args, size, (*readingRow).into)}
			for rows, err := range shared.Instants(ctx, one, at, q.Order) {
				if err != nil || !yield(join(device, rows)) {
					return err
				}
			}
		}
		return nil
	})
}

// DeviceReadings is of andon.Readings.
func (s *Store) DeviceReadings(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Reading) bool) error {
		for r, err := range s.measured(ctx, t, t.purged.in(device), q) {
			if r.Device = device; err != nil || !yield(r) {
				return err
			}
		}
		return nil
	})
}

// LatestReadings is of andon.Readings.
func (s *Store) LatestReadings(
	ctx context.Context, id andon.TenantID, devices []andon.DeviceID, from andon.Time,
) ([]andon.Reading, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	q := andon.ReadingQuery{Span: andon.Span{From: from}, Limit: 1}
	newest := func(ctx context.Context, device andon.DeviceID) (*andon.Reading, error) {
		for r, err := range s.measured(ctx, t, t.purged.in(device), q) {
			r.Device = device
			return &r, err
		}
		return nil, nil
	}
	return shared.Found(ctx, shared.Distinct(devices), newest)
}

// MetricReadings is of andon.Readings: bucket by bucket, and in each by device.
func (s *Store) MetricReadings(
	ctx context.Context, id andon.TenantID, q andon.MetricQuery,
) iter.Seq2[andon.MetricReading, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.MetricReading) bool) error {
		bucket, from := 0, ""
		if q.After != nil {
			after := *q.After
			after.Device = t.purged.in(after.Device)
			q.After = &after
			bucket, from = bucketOf(string(q.After.Device)), string(q.After.Device)
		}
		yield = seq.UpTo(q.Limit, yield)
		for ; bucket < deviceBuckets; bucket, from = bucket+1, "" {
			for r, err := range s.metricBucket(ctx, t, q, bucket, from) {
				if err != nil || !yield(r) {
					return err
				}
			}
		}
		return nil
	})
}

func (s *Store) metricBucket(
	ctx context.Context, t *tenant, q andon.MetricQuery, bucket int, from string,
) iter.Seq2[andon.MetricReading, error] {
	ask := cql.Ask("SELECT device FROM devices_by_metric "+
		"WHERE tenant = ? AND metric = ? AND bucket = ? AND device >= ?", 3)
	args := []any{t.Key, string(q.Metric), bucket, from}
	return seq.Of(func(yield func(andon.MetricReading) bool) error {
		for name, err := range cql.Pages(s.db, ask, args, 100, cql.Text).All(ctx) {
			if err != nil {
				return err
			}
			device := andon.DeviceID(name)
			if !t.purged.present(device) {
				continue
			}
			for r, err := range s.measured(ctx, t, device, q.Of(device, q.Limit)) {
				if err != nil {
					return err
				}
				value := r.Metrics[0].Value
				if !yield(andon.MetricReading{Device: idOf(device), Time: r.Time, Value: value}) {
					return nil
				}
			}
		}
		return nil
	})
}
