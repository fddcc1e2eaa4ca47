package blocks

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Deletion deletes blocks. Its methods put what they delete into a batch of the caller, who commits
// it; where the deletion ends without an error, the memory follows. No flush runs meanwhile. From
// the first call of one of its methods on no merge ends either; what a merge under way has read of
// the deleted blocks is deleted from its new run.
type Deletion struct {
	log    *Log
	locked bool     // merges.mu
	done   []func() // once the batch is committed
}

// Exclusively calls do while no flush runs, and then what do has left for its end.
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

// AtEnd has done called once the deletion has ended without an error.
func (d *Deletion) AtEnd(done func()) { d.done = append(d.done, done) }

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
	d.log.merges.expired(t.Number, day)
	t.forgetDays(day)
	for _, table := range []byte{d.log.Blocks, d.log.Runs} {
		k := layout.NewKey(table, t.Number)
		b.RemoveRange(k.Number(0), layout.NewKey(table, t.Number).Number(day))
	}
	return d.directory(ctx, b, t, day)
}

// directory deletes the rows of the directory of days before one, device by device. Days are
// inverted, so those to go are the last of each device.
func (d *Deletion) directory(
	ctx context.Context, b *engine.Batch, t *Tenant, before uint32,
) error {
	const dayBytes = 4
	prefix := layout.NewKey(d.log.Kind.Days, t.Number)
	it, err := engine.NewIterator(ctx, d.log.DB, prefix, prefix.End())
	if err != nil {
		return err
	}
	defer it.Release()
	for ok := it.First(); ok; {
		k := it.Key()
		if len(k) < len(prefix)+dayBytes {
			return layout.ErrDamaged
		}
		device := append(layout.Key(nil), k[:len(k)-dayBytes]...)
		for ok := it.SeekGE(slices.Clip(device).Inverted(before - 1)); ok &&
			bytes.HasPrefix(it.Key(), device); ok = it.Next() {
			b.Remove(it.Key())
		}
		if err := b.Spill(); err != nil {
			return err
		}
		ok = it.SeekGE(device.End())
	}
	return it.Error()
}

// Tenant says that the caller deletes all of a tenant.
func (d *Deletion) Tenant(t *Tenant) {
	d.HoldMerges()
	d.AtEnd(func() { d.log.merges.expired(t.Number, math.MaxUint32) })
}

// Device deletes what there is of a device, and visits the days on which it has blocks. Runs that
// were merged and still have blocks of it are excised first.
func (d *Deletion) Device(
	ctx context.Context, b *engine.Batch, t *Tenant, device []byte, visit func(day uint32),
) error {
	d.HoldMerges()
	if err := d.log.exciseLocked(); err != nil {
		return err
	}
	list := *t.Runs.Load()
	key := append(layout.NewKey(d.log.Kind.Days, t.Number), device...)
	directory, err := engine.NewIterator(ctx, d.log.DB, key, key.End())
	if err != nil {
		return err
	}
	defer directory.Release()
	for day, err := range days(directory, key, andon.Span{}, andon.Desc) {
		if err != nil {
			return err
		}
		visit(day)
		for _, r := range list.On(day) {
			if list, err = d.inRun(ctx, b, t, list, day, r, device); err != nil {
				return err
			}
		}
	}
	b.RemovePrefix(key)
	d.AtEnd(func() {
		t.Runs.Store(&list)
		d.log.merges.purged(t.Number, device)
	})
	return nil
}

// inRun deletes the blocks of a device in a run of a day. It returns the runs with the number of
// values that this one is left with.
func (d *Deletion) inRun(
	ctx context.Context, b *engine.Batch, t *Tenant, list RunList, day uint32, r layout.Run,
	device []byte,
) (RunList, error) {
	l := d.log
	blocks := l.device(layout.NewKey(0, 0), t.Number, day, r.RunID, device)
	values, err := l.valuesBelow(ctx, blocks)
	switch {
	case andon.KindOf(err) == andon.Damaged:
		r.Entries = layout.Uncounted // what is damaged goes, too
	case err != nil || values == 0:
		return list, err
	case r.Sequence > l.merges.flushed[0]:
		// Its flush was broken off: what it was to have is counted, and may not be there.
		r = layout.NewRun(day, r.Sequence)
	case r.Entries != layout.Uncounted:
		r.Entries -= min(r.Entries, values)
	}
	b.RemovePrefix(blocks)
	b.Put(l.run(t.Number, day, r.RunID), r.Value(day))
	return list.with(day, withRun(list.On(day), r)), nil
}

// valuesBelow returns how many values the blocks have whose keys begin with a prefix.
func (l *Log) valuesBelow(ctx context.Context, blocks layout.Key) (values uint64, err error) {
	for it, err := range engine.Rows(ctx, l.DB, blocks) {
		if err != nil {
			return 0, err
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return 0, err
		}
		n, ok := l.Count(value)
		if !ok {
			return 0, layout.ErrDamaged
		}
		values += uint64(n)
	}
	return values, nil
}
