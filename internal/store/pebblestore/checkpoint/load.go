package checkpoint

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// Load makes fleets from the checkpoint and the rows since. read is called for each row with how
// many bytes it has, unpacked.
func Load(
	db *pebble.DB, m Marker, fleets Fleets, read func(sequence uint64, bytes int),
) error {
	for tenant, f := range fleets {
		if err := loadCheckpoint(db, tenant, f); err != nil {
			return err
		}
	}
	c := newChanges()
	err := readRows(db, m.Shown, func(sequence uint64, row []byte) error {
		read(sequence, len(row))
		if err := c.Begin(row); err != nil {
			return err
		}
		if f := fleets[c.Tenant]; f != nil {
			return c.load(f)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, f := range fleets {
		f.Loaded()
	}
	return nil
}

// loadCheckpoint loads the devices of the checkpoint: many in parts, concurrently.
func loadCheckpoint(db *pebble.DB, tenant uint32, f *current.Fleet) error {
	const least = 1 << 12 // devices in a part
	end, err := endOfCheckpoint(db, tenant)
	if err != nil {
		return err
	}
	parts := min(uint32(runtime.GOMAXPROCS(0)), end/least+1)
	var loading sync.Mutex
	steps := make([]func() error, parts)
	for i := range parts {
		from, to := end/parts*i, end/parts*(i+1)
		if i == parts-1 {
			to = end
		}
		steps[i] = func() error { return loadPart(db, tenant, f, from, to, &loading) }
	}
	return engine.Together(steps...)
}

// endOfCheckpoint returns the number after the last device of the checkpoint.
func endOfCheckpoint(db *pebble.DB, tenant uint32) (uint32, error) {
	prefix := layout.NewKey(layout.TableCheckpoint, tenant)
	last := engine.RowsBetween(context.Background(), db, prefix, prefix.End(), andon.Desc)
	for it, err := range last {
		if err != nil {
			return 0, err
		}
		number, _, ok := layout.TakeNumber(it.Key()[len(prefix):])
		if !ok || number > layout.MostDevices {
			return 0, layout.ErrDamaged
		}
		return number + 1, nil
	}
	return 0, nil
}

// loadPart loads the devices whose numbers are in [from, to), some at a time.
func loadPart(
	db *pebble.DB, tenant uint32, f *current.Fleet, from, to uint32, loading *sync.Mutex,
) error {
	const some = 256
	var numbers [some]uint32
	var devices [some]current.Device
	n := 0
	load := func() {
		loading.Lock()
		defer loading.Unlock()
		for i := range n {
			f.Load(numbers[i], &devices[i])
		}
		n = 0
	}
	defer load()
	names := varint.NewInterner()
	prefix := layout.NewKey(layout.TableCheckpoint, tenant)
	at := func(number uint32) layout.Key { return slices.Clip(prefix).Number(number) }
	for it, err := range engine.RowsBetween(context.Background(), db, at(from), at(to), andon.Asc) {
		if err != nil {
			return err
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		number, _, ok := layout.TakeNumber(it.Key()[len(prefix):])
		if !ok || number > layout.MostDevices {
			return layout.ErrDamaged
		}
		numbers[n] = number
		if err := layout.ReadCheckpoint(&devices[n], value, names); err != nil {
			return err
		}
		if n++; n == some {
			load()
		}
	}
	return nil
}

// CheckRow decodes a row as Load does, and changes nothing. Where the tenant of the row is known,
// its changes are decoded as well.
func CheckRow(row []byte, known func(tenant uint32) bool) error {
	c := newChanges()
	if err := c.Begin(row); err != nil || !known(c.Tenant) {
		return err
	}
	return c.load(nil)
}

// changes loads how devices have changed.
type changes struct {
	layout.RowReader
	device current.Device // that is changed
}

func newChanges() *changes {
	c := &changes{}
	c.Names = varint.NewInterner()
	return c
}

// load loads the changes of the row that was begun into a fleet; nil: it only decodes them.
func (c *changes) load(of *current.Fleet) error {
	return c.Devices(func(eventlog.Entry) {}, func() { c.change(of) })
}

func (c *changes) change(of *current.Fleet) {
	d := &c.device
	*d = current.Device{}
	if of != nil {
		if slot := of.Numbered(c.Number); slot != nil {
			*d = of.Shown(slot)
		}
	}
	parts := c.Byte()
	if parts&layout.PartNamed != 0 {
		if d.ID = andon.DeviceID(c.Str()); d.ID == "" { // it was purged
			*d = current.Device{}
		}
	}
	c.Parts(parts, d, c.Base)
	if c.Bad || of == nil {
		return
	}
	d.Received = andon.Heard(d.Received, c.Received)
	of.Load(c.Number, d)
	if slot := of.Numbered(c.Number); slot != nil {
		slot.Note = neverWritten
	}
}
