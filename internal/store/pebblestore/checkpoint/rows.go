package checkpoint

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// readRows visits the rows from a sequence on, in their order, unpacked. A row is valid until the
// next one.
func readRows(
	db *pebble.DB, from uint64, visit func(sequence uint64, row []byte) error,
) (err error) {
	var row []byte
	for k, value := range engine.RowsBetween(db, layout.RowKey(from),
		layout.Key{layout.TableRow}.End(), 1) {
		if row, err = layout.AppendUnpacked(row[:0], value); err != nil {
			return err
		}
		if err = visit(binary.BigEndian.Uint64(k), row); err != nil {
			return err
		}
	}
	return nil
}
