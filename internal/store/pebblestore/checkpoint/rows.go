package checkpoint

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Opening reads many rows, and using them takes longer than finding and unpacking them. So the next
// rows are unpacked meanwhile, some at a time.

// unpacked are some rows that follow each other, as they are unpacked.
type unpacked struct {
	bytes []byte
	rows  []unpackedRow
}

type unpackedRow struct {
	sequence uint64
	end      int // in bytes
}

func (u *unpacked) add(sequence uint64, value []byte) (err error) {
	u.bytes, err = layout.AppendUnpacked(u.bytes, value)
	u.rows = append(u.rows, unpackedRow{sequence, len(u.bytes)})
	return err
}

// visit visits the rows, and removes them.
func (u *unpacked) visit(row func(sequence uint64, row []byte) error) error {
	from := 0
	for _, r := range u.rows {
		if err := row(r.sequence, u.bytes[from:r.end:r.end]); err != nil {
			return err
		}
		from = r.end
	}
	u.bytes, u.rows = u.bytes[:0], u.rows[:0]
	return nil
}

// readRows visits the rows from a sequence on, in their order. A row is valid until the next one.
func readRows(
	db *pebble.DB, from uint64, visit func(sequence uint64, row []byte) error,
) error {
	const parts = 4
	free, full := make(chan *unpacked, parts), make(chan *unpacked, parts)
	for range parts {
		free <- new(unpacked)
	}
	return engine.Together(func() error {
		defer close(full)
		return unpackRows(db, full, free, from)
	}, func() error {
		defer close(free) // also after an error, which ends the other one
		for some := range full {
			if err := some.visit(visit); err != nil {
				return err
			}
			free <- some
		}
		return nil
	})
}

func unpackRows(
	db *pebble.DB, full chan<- *unpacked, free <-chan *unpacked, from uint64,
) error {
	const enough = 64 << 10 // bytes
	some := <-free
	for k, value := range engine.RowsBetween(db, layout.RowKey(from),
		layout.Key{layout.TableRow}.End(), 1) {
		if err := some.add(binary.BigEndian.Uint64(k), value); err != nil {
			return err
		}
		if len(some.bytes) < enough {
			continue
		}
		full <- some
		if some = <-free; some == nil {
			return nil
		}
	}
	full <- some
	return nil
}
