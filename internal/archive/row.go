package archive

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bydevice"
	"github.com/andonhq/andon/internal/seq"
)

// moment is what rows are ordered by.
type moment struct {
	Device string `parquet:"device,dict"`
	Time   int64  `parquet:"time,timestamp(microsecond)"` // UTC
}

func momentOf(device andon.DeviceID, at andon.Time) moment {
	return moment{string(device), int64(at)}
}

// eventRow is an entry. What is absent is null.
type eventRow struct {
	moment
	State       string `parquet:"state,dict"`
	Severity    int32  `parquet:"severity"` // when it was archived
	Operator    string `parquet:"operator,optional,dict"`
	EscalatedTo string `parquet:"escalated_to,optional,dict"`
	Message     string `parquet:"message,optional"`
	Attributes  string `parquet:"attributes,optional"` // a JSON object
}

// readingRow is a metric of a reading; one without metrics is a row without a metric. So a query
// names a metric as it names a device, the columns are the same whatever devices send, and a metric
// that comes late is a row that was not there. What repeats takes next to no space.
type readingRow struct {
	moment
	Metric   string   `parquet:"metric,optional,dict"`
	Value    *float64 `parquet:"value,optional"`
	Metadata string   `parquet:"metadata,optional,dict"` // a JSON object, that of the reading
}

// table is what there is to know of the rows of a kind.
type table[T any] struct {
	// key is a row's identity: when, and which of then.
	key func(*T) (moment, string)
	// read returns what a store has in a span, by moment.
	read func(context.Context, andon.Store, *andon.Tenant, andon.Span) iter.Seq2[T, error]
	// value returns a row as something that can be imported again.
	value func(*T) any
}

func events() *table[eventRow] {
	return &table[eventRow]{
		key: func(r *eventRow) (moment, string) { return r.moment, r.State },
		read: func(
			ctx context.Context, s andon.Store, t *andon.Tenant, span andon.Span,
		) iter.Seq2[eventRow, error] {
			all := bydevice.Events(ctx, s, t.ID, bydevice.Query{Span: span})
			return seq.Map(all, func(e andon.Event) eventRow {
				return eventRow{
					moment: momentOf(e.Device, e.Time), State: string(e.State),
					Severity: int32(t.States.Severity(e.State)), Operator: string(e.Operator),
					EscalatedTo: string(e.EscalatedTo), Message: e.Message,
					Attributes: string(e.Attributes),
				}
			})
		},
		value: func(r *eventRow) any {
			return &andon.Event{
				Device: andon.DeviceID(r.Device), Time: andon.Time(r.Time),
				State: andon.State(r.State), Operator: andon.PersonID(r.Operator),
				EscalatedTo: andon.PersonID(r.EscalatedTo), Message: r.Message,
				Attributes: andon.JSON(r.Attributes),
			}
		},
	}
}

func readings() *table[readingRow] {
	return &table[readingRow]{
		key: func(r *readingRow) (moment, string) { return r.moment, r.Metric },
		read: func(
			ctx context.Context, s andon.Store, t *andon.Tenant, span andon.Span,
		) iter.Seq2[readingRow, error] {
			return seq.Of(func(yield func(readingRow) bool) error {
				for r, err := range bydevice.Readings(ctx, s, t.ID, bydevice.Query{Span: span}) {
					row := readingRow{moment: momentOf(r.Device, r.Time)}
					row.Metadata = string(r.Metadata)
					if err != nil || len(r.Metrics) == 0 && !yield(row) {
						return err
					}
					for i := range r.Metrics {
						row.Metric, row.Value = string(r.Metrics[i].Name), &r.Metrics[i].Value
						if !yield(row) {
							return nil
						}
					}
				}
				return nil
			})
		},
		// Readings of one time join when they are imported.
		value: func(r *readingRow) any {
			is := &andon.Reading{
				Device: andon.DeviceID(r.Device), Time: andon.Time(r.Time),
				Metadata: andon.JSON(r.Metadata),
			}
			if r.Value != nil {
				is.Metrics = andon.Metrics{{Name: andon.MetricName(r.Metric), Value: *r.Value}}
			}
			return is
		},
	}
}
