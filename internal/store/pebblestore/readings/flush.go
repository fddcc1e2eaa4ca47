package readings

import (
	"bytes"
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/readingblock"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// Flush writes all readings that are in rows now as blocks. Where it fails it is repeated with the
// same generations.
func (l *Log) Flush(ctx context.Context) error {
	return l.Log.Flush(func() error {
		if err := l.freeze(ctx); err != nil {
			return err
		}
		grown, tenants := l.grown.Load(), l.tenants()
		from, to := l.flushed.Load(), l.generation.Load()
		if err := l.write(ctx, tenants, from, to, int(grown)); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.mark(tenants, from, to); err != nil {
			return err
		}
		l.Ended(to - 1)
		l.grown.Add(-grown)
		return l.ForgetRows(grown)
	})
}

// freeze begins the next generation, unless a former one is not flushed yet.
func (l *Log) freeze(ctx context.Context) error {
	if l.flushed.Load() < l.generation.Load() {
		return nil
	}
	if err := l.writing.Lock(ctx); err != nil {
		return err
	}
	defer l.writing.Unlock()
	l.generation.Add(1)
	return nil
}

// write writes the rows of generations as blocks. Its tables are on the disk once the log of the
// engine is.
func (l *Log) write(
	ctx context.Context, tenants []*blocks.Tenant, from, to uint64, size int,
) error {
	pace := l.Pacing.Begin(func() bool { return l.grown.Load() > 2*l.most })
	out := blocks.NewTables(l.Env, blocks.ReadingTables, &pace, size)
	f := flusher{
		log: l, codec: newCodec(), to: &out, pace: &pace, names: varint.NewInterner(),
	}
	for _, t := range tenants {
		if err := f.rows(ctx, t, rowsOf(t.Number, from, to)); err != nil {
			return err
		}
	}
	return out.End()
}

// flusher writes rows as blocks. It gathers the readings of one device and day.
type flusher struct {
	log    *Log
	codec  blocks.Codec[andon.Reading]
	to     *blocks.Tables
	pace   *engine.Pace
	out    *blocks.RunWriter[andon.Reading] // of the generation
	names  *varint.Interner                 // of metrics
	device []byte                           // as it is in a key
	layout.ReadingKey
	readings []andon.Reading // newest first
	metrics  andon.Metrics   // of the readings
}

// gathered is how many readings are gathered at most: as many as several blocks have.
const gathered = 8 * readingblock.MaxBlock

func (f *flusher) rows(ctx context.Context, t *blocks.Tenant, rows pebble.KeyRange) error {
	f.out = nil
	for it, err := range engine.RowsBetween(ctx, f.log.DB, rows.Start, rows.End, andon.Asc) {
		if err != nil {
			return err // these are not all
		}
		row, whole := layout.SplitReading(it.Key()[1+4:])
		if !whole {
			return layout.ErrDamaged
		}
		if err := f.begin(t, row); err != nil {
			return err
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := f.add(row.At, value); err != nil {
			return err
		}
	}
	return f.end()
}

// begin begins another device, day or generation, where the row is of one.
func (f *flusher) begin(t *blocks.Tenant, row layout.ReadingKey) error {
	if f.out != nil && row.Generation == f.Generation {
		if row.Day == f.Day && bytes.Equal(row.Device, f.Device) {
			return nil
		}
		if err := f.flush(); err != nil {
			return err
		}
	} else {
		if err := f.end(); err != nil {
			return err
		}
		f.out = blocks.NewRunWriter(f.log.Log, f.codec, f.to, t, row.Generation)
	}
	f.device = layout.Key(f.device[:0]).Text(string(row.Device))
	f.ReadingKey = row
	f.Device = f.device[:len(row.Device)] // the key does not stay
	return nil
}

// add adds a reading, or a later part of the one that was added last.
func (f *flusher) add(at andon.Time, value []byte) (err error) {
	f.pace.Did(len(value))
	last := len(f.readings) - 1
	again := last >= 0 && f.readings[last].Time == at
	if last+1 == gathered && !again {
		if err := f.flush(); err != nil {
			return err
		}
	}
	r, from := andon.Reading{Time: at}, len(f.metrics)
	f.metrics, r.Metadata, err = layout.ReadReading(f.metrics, value, f.names)
	r.Metrics = f.metrics[from:len(f.metrics):len(f.metrics)]
	if again {
		f.readings[last] = join(f.readings[last], r)
	} else {
		f.readings = append(f.readings, r)
	}
	return err
}

func (f *flusher) flush() error {
	if len(f.readings) == 0 {
		return nil
	}
	err := f.out.Write(f.device, f.Day, f.readings)
	clear(f.readings)
	f.readings, f.metrics = f.readings[:0], f.metrics[:0]
	return err
}

func (f *flusher) end() error {
	if f.out == nil {
		return nil
	}
	if err := f.flush(); err != nil {
		return err
	}
	return f.out.End()
}
