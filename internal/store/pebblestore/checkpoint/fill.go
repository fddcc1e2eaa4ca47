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
	db *pebble.DB, m Marker, fleets Fleets, memory *eventlog.Memtable,
	read func(sequence uint64, bytes int),
) (first, last andon.Time, err error) {
	f := filling{memory: memory}
	err = readRows(db, m.Flushed, func(sequence uint64, row []byte) error {
		read(sequence, len(row))
		if err := f.Begin(row); err != nil {
			return err
		}
		first, last = cmp.Or(first, f.Received), cmp.Or(f.Received, last)
		if fleets[f.Tenant] == nil {
			return nil
		}
		return f.add()
	})
	return first, last, err
}

// filling adds the entries of rows to a memtable.
type filling struct {
	layout.RowReader
	memory *eventlog.Memtable
}

// add adds the entries of the row that was begun.
func (f *filling) add() error {
	var full error
	err := f.Devices(func(e eventlog.Entry) {
		if err := f.memory.Add(f.Tenant, f.Number, e); full == nil {
			full = err
		}
	}, func() {
		if f.SkipChange() {
			f.memory.Forget(f.Tenant, f.Number)
		}
	})
	return errors.Join(err, full)
}
