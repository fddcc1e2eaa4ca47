package layout

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// RowVisitor receives what a row says.
type RowVisitor interface {
	// Begin gets the tenant of a row and the time of its arrival. It reports whether to go on.
	Begin(tenant uint32, received andon.Time) bool
	// Entry gets an entry of a device, which is valid for as long as the row.
	Entry(number uint32, e eventlog.Entry)
	// Change reads how a device changed, after its entries. base is the time of the last.
	Change(w *Reader, number uint32, base andon.Time)
}

// RowReader reads rows.
type RowReader struct {
	visitor RowVisitor
	entries eventlog.Row
	number  uint32
	entry   func(eventlog.Entry)
}

// NewRowReader returns a reader that passes rows to a visitor.
func NewRowReader(v RowVisitor) *RowReader {
	r := &RowReader{visitor: v}
	r.entry = func(e eventlog.Entry) { v.Entry(r.number, e) }
	return r
}

// Read reads a row, which is not packed.
func (r *RowReader) Read(row []byte) (err error) {
	w := NewReader(row)
	tenant, received := w.Count(), w.Time()
	if w.Bad {
		return ErrDamaged
	}
	if !r.visitor.Begin(uint32(tenant), received) {
		return nil
	}
	if w.Rest, err = r.entries.ReadNames(w.Rest); err != nil {
		return err
	}
	for len(w.Rest) > 0 {
		number, base := w.Count(), andon.Time(0)
		if w.Bad || number > MostDevices {
			return ErrDamaged
		}
		r.number = uint32(number)
		if w.Rest, base, err = r.entries.ReadEntries(w.Rest, received, r.entry); err != nil {
			return err
		}
		if r.visitor.Change(&w, r.number, base); w.Bad {
			return ErrDamaged
		}
	}
	return nil
}

// SkipDeviceChange skips what AppendDeviceChange wrote, and reports whether it purged the device.
func (w *Reader) SkipDeviceChange(base andon.Time) (purged bool) {
	parts := w.Byte()
	if parts&PartNamed != 0 {
		purged = w.Str() == ""
	}
	w.Parts(parts, &current.Device{}, base)
	return purged
}

// MostDevices bounds the memory that a damaged number makes the store reserve.
const MostDevices = 1 << 28
