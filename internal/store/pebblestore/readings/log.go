package readings

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Log is the readings of all tenants: those in rows, and those in blocks.
type Log struct {
	*blocks.Log
	tenants func() []*blocks.Tenant
	job     engine.Job
	most    int64 // bytes of rows that make a flush worth it
	// writing is shared by writes of rows. The next generation begins under it alone: after that
	// all rows of the former one are on the disk.
	writing    engine.SharedLock
	generation atomic.Uint64 // of the rows that are written now
	numbers    atomic.Uint64 // how many rows were numbered since the store was opened
	flushed    atomic.Uint64 // the rows of the generations before it are in blocks
	grown      atomic.Int64  // bytes of rows since the last flush
}

// NewLog returns an empty log, which is flushed once rows have so many bytes.
func NewLog(e *blocks.Env, most int64, tenants func() []*blocks.Tenant) *Log {
	l := &Log{Log: blocks.NewLog(e, kind, newCodec, tenants), tenants: tenants, most: most}
	l.writing.Rank = engine.LockReadingRows
	return l
}

// firstKey is the fixed key of the first generation that is not in blocks, 8 bytes.
func firstKey() layout.Key { return layout.FixedKey("readings") }

// Open finds the runs and the generations. The next generation begins: a flush may have been
// writing the last one.
func (l *Log) Open(ctx context.Context) error {
	first, err := engine.ReadUint(l.DB, firstKey())
	if err != nil {
		return err
	}
	l.flushed.Store(max(first, 1))
	last := l.flushed.Load() - 1
	if err := l.Log.Open(last); err != nil {
		return err
	}
	for _, t := range l.tenants() {
		generation, err := l.lastGeneration(ctx, t.Number)
		if err != nil {
			return err
		}
		last = max(last, generation)
	}
	l.generation.Store(last + 1)
	rows := layout.Key{layout.TableReading}
	bytes, err := l.DB.EstimateDiskUsage(rows, rows.End())
	if err != nil {
		return fmt.Errorf("read store: %w", engine.ReadError(err))
	}
	l.grown.Store(int64(bytes))
	return nil
}

// lastGeneration returns that of the last row of a tenant; 0 where it has none.
func (l *Log) lastGeneration(ctx context.Context, tenant uint32) (uint64, error) {
	k := layout.NewKey(layout.TableReading, tenant)
	for it, err := range engine.RowsBetween(ctx, l.DB, k, k.End(), andon.Desc) {
		if err != nil {
			return 0, err
		}
		row, ok := layout.SplitReading(it.Key()[len(k):])
		if !ok {
			return 0, layout.ErrDamaged
		}
		return row.Generation, nil
	}
	return 0, nil
}

// First returns the first generation that is not in blocks.
func (l *Log) First() uint64 { return l.flushed.Load() }

// Start starts flushes and merges in the background.
func (l *Log) Start() {
	l.Log.Start()
	l.job.Start(func() {
		if err := l.Flush(context.Background()); err != nil {
			l.Env.Log.Error("readings were not flushed to blocks; they stay in rows", "error", err)
		}
	})
	if l.grown.Load() >= l.most || l.flushed.Load()+1 < l.generation.Load() {
		l.job.Want() // with each generation a reader has more to look at
	}
}

// Stop waits until the flush and the merge that were asked for have ended.
func (l *Log) Stop() {
	l.job.Stop()
	l.Log.Stop()
}

// Write begins a write of so many rows, of the generation and from the number on that it returns.
// The caller calls end once they are on the disk, with the bytes of its batch.
func (l *Log) Write(
	ctx context.Context, rows int,
) (generation, number uint64, end func(bytes int), err error) {
	if err := l.writing.RLock(ctx); err != nil {
		return 0, 0, nil, err
	}
	number = l.numbers.Add(uint64(rows)) - uint64(rows)
	return l.generation.Load(), number, func(bytes int) {
		if l.grown.Add(int64(bytes)) >= l.most {
			l.job.Want()
		}
		l.writing.RUnlock()
	}, nil
}

// generations returns those that may have rows.
func (l *Log) generations() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		last := l.generation.Load()
		for g := l.flushed.Load(); g <= last && yield(g); g++ {
		}
	}
}

// rowsOf is the keys of the rows of a tenant from a generation up to another.
func rowsOf(tenant uint32, from, to uint64) pebble.KeyRange {
	return pebble.KeyRange{Start: generationKey(tenant, from), End: generationKey(tenant, to)}
}

// generationKey begins the keys of the rows of a generation.
func generationKey(tenant uint32, generation uint64) layout.Key {
	return layout.NewKey(layout.TableReading, tenant).Uint(generation, layout.SequenceBytes)
}

// Deletion deletes readings, in rows and in blocks. It is used as a blocks.Deletion.
type Deletion struct {
	*blocks.Deletion
	log *Log
}

// Exclusively calls do while no flush runs, and then what the deletion has left for its end.
func (l *Log) Exclusively(do func(d *Deletion) error) error {
	return l.Log.Exclusively(func(d *blocks.Deletion) error { return do(&Deletion{d, l}) })
}

// Days deletes the days of a tenant before one.
func (d *Deletion) Days(
	ctx context.Context, b *engine.Batch, t *blocks.Tenant, day uint32,
) error {
	for generation := range d.log.generations() {
		b.RemoveRange(generationKey(t.Number, generation).Number(0),
			generationKey(t.Number, generation).Number(day))
	}
	return d.Deletion.Days(ctx, b, t, day)
}

// Device deletes the readings of a device, and reports whether there were any.
func (d *Deletion) Device(
	ctx context.Context, b *engine.Batch, t *blocks.Tenant, device string,
) (found bool, err error) {
	name := deviceKey(device)
	err = d.Deletion.Device(ctx, b, t, name, func(day uint32) {
		found = true
		for generation := range d.log.generations() {
			b.RemovePrefix(append(generationKey(t.Number, generation).Number(day), name...))
		}
	})
	return found, err
}

func deviceKey(device string) layout.Key { return layout.Key(nil).Text(device) }

// write says that the generations before one are in blocks, and deletes their rows.
func (l *Log) mark(tenants []*blocks.Tenant, from, to uint64) error {
	b := engine.NewBatch(l.DB)
	defer b.Release()
	b.Put(firstKey(), binary.BigEndian.AppendUint64(nil, to))
	for _, t := range tenants {
		rows := rowsOf(t.Number, from, to)
		b.RemoveRange(rows.Start, rows.End)
	}
	if err := b.Write(pebble.Sync); err != nil {
		return fmt.Errorf("write the end of a flush: %w", err)
	}
	l.flushed.Store(to)
	return nil
}
