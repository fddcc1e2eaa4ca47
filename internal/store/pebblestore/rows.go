package pebblestore

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/eventlog"
)

// rowVisitor is told what a row says.
type rowVisitor interface {
	// begin says whose row it is and when it came, and reports whether it is wanted.
	begin(tenant uint32, received andon.Time) bool
	// entry is an entry of a device. It is valid for as long as the row.
	entry(number uint32, e eventlog.Entry)
	// change reads how a device changed, behind its entries. base is the time of the last.
	change(w *wire, number uint32, base andon.Time)
}

// rowReader reads rows.
type rowReader struct {
	visitor rowVisitor
	entries eventlog.Row
	number  uint32
	entry   func(eventlog.Entry)
}

func newRowReader(v rowVisitor) *rowReader {
	r := &rowReader{visitor: v}
	r.entry = func(e eventlog.Entry) { v.entry(r.number, e) }
	return r
}

func (r *rowReader) read(row []byte) (err error) {
	w := wireOf(row)
	tenant, received := w.Count(), w.time()
	if w.Bad {
		return errDamaged
	}
	if !r.visitor.begin(uint32(tenant), received) {
		return nil
	}
	if w.Rest, err = r.entries.ReadNames(w.Rest); err != nil {
		return errDamaged
	}
	for len(w.Rest) > 0 {
		number, base := w.Count(), andon.Time(0)
		if w.Bad || number > mostDevices {
			return errDamaged
		}
		r.number = uint32(number)
		if w.Rest, base, err = r.entries.ReadEntries(w.Rest, received, r.entry); err != nil {
			return errDamaged
		}
		if r.visitor.change(&w, r.number, base); w.Bad {
			return errDamaged
		}
	}
	return nil
}

// skipChange passes over how a device changed, and reports whether it was purged.
func (w *wire) skipChange(base andon.Time) (purged bool) {
	parts := w.Byte()
	if parts&partNamed != 0 {
		purged = w.text() == ""
	}
	w.parts(parts, &current.Device{}, base)
	return purged
}
