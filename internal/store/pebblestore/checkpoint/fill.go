package checkpoint

import (
	"cmp"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// Fill adds the entries of the rows that are not flushed to a memtable, for the tenants that there
// are. read is called for each row with how many bytes it has, unpacked. It returns when the first
// message in the rows came, and when the last one did.
func Fill(
	db *pebble.DB, m Marker, tenants map[uint32]bool, memory *eventlog.Memtable,
	read func(sequence uint64, bytes int),
) (first, last andon.Time, err error) {
	f := &filling{tenants: tenants, memory: memory}
	r := layout.NewRowReader(f)
	err = readRows(db, m.Flushed, func(sequence uint64, row []byte) error {
		read(sequence, len(row))
		return errors.Join(r.Read(row), f.err)
	})
	return f.first, f.last, err
}

// filling adds the entries of rows to a memtable.
type filling struct {
	tenants     map[uint32]bool
	memory      *eventlog.Memtable
	tenant      uint32
	err         error      // of an entry that does not fit
	first, last andon.Time // arrivals of messages
}

// Begin implements layout.RowVisitor.
func (f *filling) Begin(tenant uint32, received andon.Time) bool {
	f.tenant = tenant
	f.first, f.last = cmp.Or(f.first, received), cmp.Or(received, f.last)
	return f.tenants[tenant]
}

// Entry implements layout.RowVisitor.
func (f *filling) Entry(number uint32, e eventlog.Entry) {
	if err := f.memory.Add(f.tenant, number, e); f.err == nil {
		f.err = err
	}
}

// Change implements layout.RowVisitor.
func (f *filling) Change(r *layout.Reader, number uint32, base andon.Time) {
	if r.SkipDeviceChange(base) {
		f.memory.Forget(f.tenant, number)
	}
}
