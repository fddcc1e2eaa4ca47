package checkpoint

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// readRows visits the rows from a sequence on, in their order, unpacked. A row is valid until the
// next one.
func readRows(
	db *pebble.DB, from uint64, visit func(sequence uint64, row []byte) error,
) error {
	var row []byte
	for it, err := range engine.RowsBetween(context.Background(), db, layout.RowKey(from),
		layout.Key{layout.TableRow}.End(), andon.Asc) {
		if err != nil {
			return err
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if row, err = layout.AppendUnpacked(row[:0], value); err != nil {
			return err
		}
		if err = visit(layout.SequenceOf(it.Key()), row); err != nil {
			return err
		}
	}
	return nil
}
