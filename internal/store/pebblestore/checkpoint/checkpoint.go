// Package checkpoint writes what devices show, and reads it again when a store is opened.
//
// A checkpoint is a row for each device, as it is shown. A change of a device is in the row of the
// request that made it. So opening reads the checkpoint, and the rows since. A flush of entries
// writes the checkpoint next to its blocks, but not each flush does: see Due.
//
// It is fuzzy. It begins at a sequence N, is written while writing goes on, and ends with a marker
// that says that opening begins to read at N, in the batch that deletes rows before N. A device in
// it may hold later changes already. Rows hold whole values, so reading those again changes
// nothing.
//
// Which devices need to be written, a slot of current.Fleet notes: Slot.Note is what Slot.Changes
// was when the device was written. A device with a change that is pending is written as it is
// shown, and stays due.
//
// Contract:
//
//   - What Write writes is on the disk before the rows that it makes superfluous may be deleted:
//     the caller puts the marker after it. Where Write, or what the caller writes next to it,
//     fails, the caller calls Forget, since which devices were written is not known then.
//   - Load and Fill read rows in their order. A row that can't be read ends them with an error:
//     what devices show would be wrong without it.
//   - Rows of a tenant that there is not are left out.
//
// Locks: Write takes the lock of what is shown for a few hundred devices at a time. No tenant may
// be deleted meanwhile.
//
// The package knows fleets, rows and the checkpoint. It does not know when a flush begins, nor what
// a tenant is but its number.
package checkpoint

import (
	"context"
	"math"
	"sync"

	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Fleets are the devices of all tenants, by their numbers.
type Fleets map[uint32]*current.Fleet

// Writer writes checkpoints.
type Writer struct {
	Shown sync.Locker // held while devices are read
	// PerDevice is how many bytes of rows a device are a reason to write all devices.
	PerDevice int64
}

// A row of the checkpoint costs about what a block of one entry does, and compactions write it
// again. Where a flush has less than an entry of each device, writing all devices with each flush
// would cost more than their entries. So flushes defer it until bytes of rows for each device have
// come, about two entries, or as many as opening reads in a second.
const (
	DefaultPerDevice = 128
	mostBytes        = 256 << 20
)

// Due reports whether the devices should be written, when so many bytes of rows were flushed since
// they were written last.
func (w *Writer) Due(bytes int64, fleets Fleets) bool {
	devices := int64(0)
	w.Shown.Lock()
	for _, f := range fleets {
		devices += int64(f.Numbers())
	}
	w.Shown.Unlock()
	return bytes >= min(devices*w.PerDevice, mostBytes)
}

// part is how many devices are read at a time, so that requests are not held up.
const part = 512

// Write writes the devices of all fleets that were changed since they were last written. Those that
// are made meanwhile are in later rows.
func (w *Writer) Write(ctx context.Context, fleets Fleets, out *blocks.Tables) error {
	for tenant, f := range fleets {
		w.Shown.Lock()
		end := f.Numbers()
		w.Shown.Unlock()
		for from := uint32(0); from < end && ctx.Err() == nil; from += part {
			w.some(tenant, f, from, out)
			if err := out.Spill(); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// some writes what was changed of a part of the devices, by number from one on. What is shown of
// them is on the disk already, in rows.
func (w *Writer) some(tenant uint32, f *current.Fleet, from uint32, out *blocks.Tables) {
	k := layout.NewKey(layout.TableCheckpoint, tenant)
	var value []byte
	begun := out.Pending()
	w.Shown.Lock()
	for slot := range f.Slots(from, part) {
		if slot.Changes() == slot.Note {
			continue // it is there
		}
		// In this order: a change that is pending is not shown, and makes the device due again.
		if changes := slot.Changes(); !slot.Pending() {
			slot.Note = changes
		}
		shown := f.Shown(slot)
		value = layout.AppendCheckpoint(value[:0], &shown)
		k = k.Begin(layout.TableCheckpoint, tenant).Number(slot.Number())
		out.Add(k, value)
	}
	w.Shown.Unlock()
	out.Did(out.Pending() - begun)
}

// Forget has the next Write write all devices.
func (w *Writer) Forget(fleets Fleets) {
	w.Shown.Lock()
	defer w.Shown.Unlock()
	for _, f := range fleets {
		for slot := range f.Slots(0, f.Numbers()) {
			slot.Note = neverWritten
		}
	}
}

// neverWritten is the Note of a slot that is not in the checkpoint as it is.
const neverWritten = math.MaxUint32
