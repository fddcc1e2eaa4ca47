package blocks

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// Log is the entries of all tenants: those in the memtable, and those in blocks.
type Log struct {
	*Env
	Memory Memory
	merges merges
	// flushing is held by a flush and by a deletion, so that a flush never writes again what a
	// deletion has deleted.
	flushing engine.Mutex
	Merged   atomic.Int64 // blocks that were merged since the store was opened
	Hooks    hooks
}

// hooks are nil, but in tests.
type hooks struct {
	Looking func() // called before a reader looks into memory
	Written func() // called between the blocks of a merged run and its end
}

// NewLog returns an empty log, whose entries in memory take at most so many bytes. A write that
// waits for a flush waits for as long as timeout.
func NewLog(e *Env, memory int, timeout time.Duration) *Log {
	l := &Log{Env: e, flushing: engine.Mutex{Rank: engine.LockFlush}}
	l.merges.running.Rank, l.merges.mu.Rank = engine.LockMerge, engine.LockRuns
	l.Memory.mu.Rank = engine.LockMemory
	l.Memory.begin(memory, timeout)
	l.Memory.hooks = &l.Hooks
	return l
}

// Tenant is what is in memory of the blocks of a tenant.
type Tenant struct {
	number  uint32
	Runs    atomic.Pointer[RunList]
	entered dayNumbers // of layout.TableDay. Guarded by Log.flushing
}

// NewTenant returns a tenant without blocks.
func NewTenant(number uint32) *Tenant {
	t := &Tenant{number: number}
	t.Runs.Store(&RunList{})
	return t
}

// Flush is one flush.
type Flush struct{ log *Log }

// Flush calls do for one flush. It waits while a flush runs, and while something is deleted.
func (l *Log) Flush(do func(f Flush) error) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	return do(Flush{l})
}

// Freeze has new entries go into another memtable, unless the last flush failed and is repeated:
// all rows before a sequence are in the frozen one, which are so many bytes. It belongs to the
// ordered section.
func (f Flush) Freeze(next uint64, bytes int64) { f.log.Memory.freeze(next, bytes) }

// Frozen returns the sequence after the rows that are frozen, and their bytes.
func (f Flush) Frozen() (next uint64, bytes int64) {
	return f.log.Memory.next, f.log.Memory.rows
}

// Write writes the frozen memtable as blocks, and then what also writes. All rows that are frozen
// must be on the disk: a row that a power cut takes must not come back as a block. Where write
// fails, or its context ends, the flush is repeated with the same entries, and perhaps more.
func (f Flush) Write(
	ctx context.Context, tenants []*Tenant, x Index, also func(out *Tables) error,
) error {
	err := f.log.write(ctx, tenants, x, also)
	if err != nil {
		for _, t := range tenants {
			t.entered = nil // which days it wrote is not known
		}
	}
	return err
}

// End ends a flush, and returns how many entries it has flushed. That all is in blocks must be on
// the disk: from now on only the blocks have the entries.
func (f Flush) End() (entries int) {
	f.log.merges.ended(f.log.Memory.next)
	entries = f.log.Memory.frozen.Entries()
	f.log.Memory.drop()
	return entries
}

// Deletion deletes blocks. Its methods put what they delete into a batch of the caller, who commits
// it; where the deletion ends without an error, the memory follows. No flush runs meanwhile. From
// the first call of one of its methods on no merge ends either; what a merge under way has read of
// the deleted blocks is deleted from its new run.
type Deletion struct {
	log    *Log
	locked bool     // merges.mu
	done   []func() // once the batch is committed
}

// Exclusively calls do while no flush runs, and runs what the deletion has left for its end.
func (l *Log) Exclusively(do func(d *Deletion) error) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	d := &Deletion{log: l}
	defer d.unlock()
	err := do(d)
	if err == nil {
		for _, done := range d.done {
			done()
		}
	}
	return err
}

// HoldMerges keeps merges from ending until the deletion ends. Each other method does so as well.
// In the order of the locks it comes before the ordered section.
func (d *Deletion) HoldMerges() {
	if !d.locked {
		d.locked = true
		d.log.merges.mu.Lock()
	}
}

func (d *Deletion) unlock() {
	if d.locked {
		d.log.merges.mu.Unlock()
	}
}

// Days deletes the days of a tenant before one. No merge reads their blocks any more, also if the
// deletion is interrupted.
func (d *Deletion) Days(ctx context.Context, b *engine.Batch, t *Tenant, day uint32) error {
	if day == 0 {
		return nil
	}
	d.HoldMerges()
	d.log.merges.expired(t.number, day)
	t.forgetDays(day)
	d.done = append(d.done, func() { t.entered = nil })
	for _, table := range []byte{layout.TableBlock, layout.TableRun} {
		k := layout.NewKey(table, t.number)
		b.RemoveRange(k.Number(0), layout.NewKey(table, t.number).Number(day))
	}
	return d.directory(ctx, b, t, day)
}

// directory deletes the rows of the directory of days before one, device by device. Days are
// inverted, so those to go are the last of each device.
func (d *Deletion) directory(
	ctx context.Context, b *engine.Batch, t *Tenant, before uint32,
) error {
	prefix := layout.NewKey(layout.TableDay, t.number)
	it, err := engine.NewIterator(ctx, d.log.DB, prefix, prefix.End())
	if err != nil {
		return err
	}
	defer it.Release()
	for ok := it.First(); ok; {
		number, _, whole := layout.TakeNumber(it.Key()[len(prefix):])
		if !whole {
			return layout.ErrDamaged
		}
		device := layout.NewKey(layout.TableDay, t.number).Number(number)
		if err := engine.RemoveDays(it, b, device, before); err != nil {
			return err
		}
		ok = it.SeekGE(device.End())
	}
	return it.Error()
}

// Tenant says that the caller deletes all of a tenant.
func (d *Deletion) Tenant(t *Tenant) {
	d.HoldMerges()
	d.done = append(d.done, func() {
		d.log.merges.expired(t.number, math.MaxUint32)
		d.log.Memory.forgetTenant(t.number)
	})
}

// Device deletes what there is of a device, and reports whether it has blocks. Runs that were
// merged and still have blocks of it are excised first.
func (d *Deletion) Device(
	ctx context.Context, b *engine.Batch, t *Tenant, device uint32,
) (found bool, err error) {
	d.HoldMerges()
	if err := d.log.exciseLocked(); err != nil {
		return false, err
	}
	list := *t.Runs.Load()
	directory, err := engine.NewDays(ctx, d.log.DB, layout.TableDay, t.number)
	if err != nil {
		return false, err
	}
	defer directory.Close()
	days := layout.NewKey(layout.TableDay, t.number).Number(device)
	for day, err := range directory.Of(days, andon.Span{}, andon.Desc) {
		if err != nil {
			return false, err
		}
		found = true
		for _, r := range list.On(day) {
			if list, err = d.inRun(ctx, b, t, list, day, r, device); err != nil {
				return false, err
			}
		}
	}
	b.RemovePrefix(days)
	d.done = append(d.done, func() {
		t.Runs.Store(&list)
		d.log.merges.purged(t.number, device)
		d.log.Memory.forget(t.number, device)
	})
	return found, nil
}

// inRun deletes the blocks of a device in a run of a day. It returns the runs with the number of
// entries that this one is left with.
func (d *Deletion) inRun(
	ctx context.Context, b *engine.Batch, t *Tenant, list RunList, day uint32, r layout.Run,
	device uint32,
) (RunList, error) {
	blocks := layout.NewKey(layout.TableBlock, t.number).Run(day, r.RunID).Number(device)
	entries, err := d.log.entriesBelow(ctx, blocks)
	switch {
	case andon.KindOf(err) == andon.Damaged:
		r.Entries = layout.Uncounted // what is damaged goes, too
	case err != nil || entries == 0:
		return list, err
	case r.Entries != layout.Uncounted:
		r.Entries -= min(r.Entries, entries)
	}
	b.RemovePrefix(blocks)
	b.Put(layout.RunKey(t.number, day, r.RunID), r.Value(day))
	return list.with(day, withRun(list.On(day), r)), nil
}

// entriesBelow returns how many entries the blocks have whose keys begin with a prefix.
func (l *Log) entriesBelow(
	ctx context.Context, blocks layout.Key,
) (entries uint64, err error) {
	it, err := engine.NewIterator(ctx, l.DB, blocks, blocks.End())
	if err != nil {
		return 0, err
	}
	defer it.Release()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return 0, fmt.Errorf("read block: %w", err)
		}
		n, ok := eventlog.BlockEntries(value)
		if !ok {
			return 0, layout.ErrDamaged
		}
		entries += uint64(n)
	}
	return entries, it.Error()
}

// OpenIterator opens an iterator over the blocks of a tenant, and finds which runs it has: those
// that there were before and after it was opened. A merge keeps the list right before and after its
// last step.
func (t *Tenant) OpenIterator(
	open func() (*engine.Iterator, error),
) (*engine.Iterator, *RunList, error) {
	for {
		runs := t.Runs.Load()
		it, err := open()
		if err != nil {
			return nil, nil, err
		}
		if runs == t.Runs.Load() {
			return it, runs, nil
		}
		it.Release()
	}
}
