package pebblestore

import (
	"bytes"
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// readingDeletion deletes readings. Its methods put what they delete into a batch of the caller,
// who
// commits it. No flush runs meanwhile.
type readingDeletion struct{ rows *readingRows }

// exclusively calls do while no flush runs.
func (m *readingRows) exclusively(do func(d *readingDeletion) error) error {
	m.running.Lock()
	defer m.running.Unlock()
	return do(&readingDeletion{m})
}

// before deletes the days of a tenant before one.
func (d *readingDeletion) before(
	ctx context.Context, b *engine.Batch, tenant, day uint32,
) error {
	if day == 0 {
		return nil
	}
	blocks := layout.NewKey(layout.TableReadingBlock, tenant)
	b.RemoveRange(blocks.Number(0), layout.NewKey(layout.TableReadingBlock, tenant).Number(day))
	for generation := range d.rows.kept() {
		k := layout.NewKey(layout.TableReading, tenant).Uint(generation, layout.SequenceBytes)
		to := layout.Key(bytes.Clone(k)).Number(day)
		b.RemoveRange(k.Number(0), to)
	}
	return engine.Texts(ctx, d.rows.db, layout.TableReadingDay, tenant,
		func(it *engine.Iterator, owner layout.Key) error {
			return engine.RemoveDays(it, b, owner, day)
		})
}

// device deletes the readings of a device, and reports whether there were any.
func (d *readingDeletion) device(
	ctx context.Context, b *engine.Batch, tenant uint32, device andon.DeviceID,
) (found bool, err error) {
	directory, err := engine.NewDays(ctx, d.rows.db, layout.TableReadingDay, tenant)
	if err != nil {
		return false, err
	}
	defer directory.Close()
	days := layout.NewKey(layout.TableReadingDay, tenant).Text(string(device))
	for day, err := range directory.Of(days, andon.Span{}, andon.Desc) {
		if err != nil {
			return false, err
		}
		found = true
		b.RemovePrefix(
			layout.NewKey(layout.TableReadingBlock, tenant).Number(day).Text(string(device)))
		for generation := range d.rows.kept() {
			k := layout.NewKey(layout.TableReading, tenant).Uint(generation, layout.SequenceBytes)
			b.RemovePrefix(k.Number(day).Text(string(device)))
		}
	}
	b.RemovePrefix(days)
	return found, nil
}
