package layout

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// RowReader reads rows, one after the other. Its Reader reads how the device at hand has changed.
type RowReader struct {
	Reader
	Tenant   uint32
	Received andon.Time // when the message came; 0: the row is none
	Number   uint32     // of the device at hand
	Base     andon.Time // the time of its last entry
	entries  eventlog.Row
}

// Begin begins a row, which is not packed.
func (r *RowReader) Begin(row []byte) error {
	r.Reader.Reader = varint.Reader{Rest: row}
	r.Tenant, r.Received = uint32(r.Count()), r.Time()
	return r.Err()
}

// Devices visits the devices of the row: of each its entries, which are valid for as long as the
// row, and then its change, which is read there.
func (r *RowReader) Devices(entry func(eventlog.Entry), change func()) (err error) {
	if r.Rest, err = r.entries.ReadNames(r.Rest); err != nil {
		return err
	}
	for len(r.Rest) > 0 {
		r.Number = uint32(r.Reader.Number(MostDevices))
		if r.Bad {
			return ErrDamaged
		}
		if r.Rest, r.Base, err = r.entries.ReadEntries(r.Rest, r.Received, entry); err != nil {
			return err
		}
		if change(); r.Bad {
			return ErrDamaged
		}
	}
	return nil
}

// SkipChange skips how the device at hand has changed, and reports whether it was purged.
func (r *RowReader) SkipChange() (purged bool) {
	parts := r.Byte()
	if parts&PartNamed != 0 {
		purged = r.Str() == ""
	}
	r.Parts(parts, &current.Device{}, r.Base)
	return purged
}

// MostDevices bounds the memory that a damaged number makes the store reserve.
const MostDevices = 1 << 28
