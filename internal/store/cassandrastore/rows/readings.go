package rows

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

// PackReading encodes a message.
func PackReading(stamp int64, r *andon.Reading) cql.Packed {
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

// readingValue (delivery bigint, metrics frozen<map<text, double>>, metadata text) is a message.
type readingValue struct {
	andon.Reading
	delivery int64
}

// UnmarshalCQL implements gocql.Unmarshaler.
func (r *readingValue) UnmarshalCQL(_ cql.TypeInfo, b []byte) error {
	f := cql.Fields{Rest: b}
	r.delivery, r.Metrics = f.Bigint(), nil
	inner := cql.Fields{Rest: f.Next()}
	r.Metadata = andon.JSON(f.Text())
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
		r.Metrics = append(r.Metrics, m)
	}
	slices.SortFunc(r.Metrics, func(a, b andon.Metric) int { return cmp.Compare(a.Name, b.Name) })
	return f.Err
}

// MessageID distinguishes the messages of one device and time.
func MessageID(r *andon.Reading) []byte {
	return binary.BigEndian.AppendUint64(nil, shared.MessageHash(r))
}

// InsertReadings writes the readings of one device: those of one day and shard as one batch.
func InsertReadings(
	tenant string, stamp int64, index *Index, readings []andon.Reading,
) []cql.Mutation {
	var batches Batches
	for i := range readings {
		r := &readings[i]
		day, shard := r.Time.Day(), readingShard(r.Time)
		batches.Add(day, shard, 64+32*len(r.Metrics)+len(r.Metadata), cql.Do(
			"INSERT INTO readings_by_device (tenant, device, day, shard, time, message, reading) "+
				"VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ? AND TTL ?",
			tenant, string(r.Device), int(day), shard, int64(r.Time), MessageID(r),
			PackReading(stamp, r), stamp, index.TTL.Seconds(r.Time)))
		index.Partition(OfReadings, string(r.Device), day, shard, "", r.Time)
		for _, m := range r.Metrics {
			index.metric(string(m.Name), string(r.Device), r.Time)
		}
	}
	index.Device(string(readings[0].Device))
	return batches.All
}

// readingShard is the shard of a reading: the quarter of its day, so that a device may have four
// readings a second before a partition has 100,000 rows.
func readingShard(at andon.Time) int { return int(at.Hour() % 24 / 6) }

func (r *readingValue) columns() []any { return []any{&r.Time, r} }

const readingColumns = "SELECT time, reading FROM readings_by_device " +
	"WHERE tenant = ? AND device = ? AND day = ? AND shard = ? AND time >= ? AND time <= ?"

var (
	readingsDown = cql.Query{Text: readingColumns, Partition: 4}
	readingsUp   = cql.Query{
		Text: readingColumns + " ORDER BY time ASC, message DESC", Partition: 4,
	}
)

// join joins the messages of one time, the latest delivery last.
func join(device andon.DeviceID, rows []readingValue) andon.Reading {
	slices.SortStableFunc(rows, func(a, b readingValue) int {
		return cmp.Compare(a.delivery, b.delivery)
	})
	r := rows[0].Reading
	r.Device = IDOf(device)
	for i := range rows[1:] {
		shared.JoinReading(&r, &rows[i+1].Reading)
	}
	return r
}

// Readings returns the readings of a device, by its key, that a query selects.
func (s Reader) Readings(
	ctx context.Context, t *Tenant, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	span := q.Rest()
	days := s.UnitsIn(ctx, t.Key, OfReadings, string(device), span, q.Order)
	return shared.Measured(q, seq.Join(days, func(u Unit) iter.Seq2[andon.Reading, error] {
		return s.readingsOn(ctx, t, device, u, span, q)
	}))
}

// readingsOn returns the readings of one day, quarter by quarter.
func (s Reader) readingsOn(
	ctx context.Context, t *Tenant, device andon.DeviceID, u Unit, span andon.Span,
	q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	ask := readingsDown
	shards := slices.Clone(u.Shards)
	if q.Order == andon.Asc {
		ask = readingsUp
	} else {
		slices.Reverse(shards)
	}
	if span.To == 0 {
		span.To = andon.MaxTime
	}
	at := func(r *readingValue) andon.Time { return r.Time }
	return seq.Of(func(yield func(andon.Reading) bool) error {
		for _, shard := range shards {
			args := []any{t.Key, string(device), int(u.Number), shard,
				int64(span.From), int64(span.To)}
			size := min(max(q.Limit+1, 10), 128) // a reading may have a hundred kilobytes
			one := cql.Pages(s.DB, ask, args, size, (*readingValue).columns)
			for rows, err := range shared.Merge(ctx, at, q.Order, one) {
				if err != nil || !yield(join(device, rows)) {
					return err
				}
			}
		}
		return nil
	})
}
