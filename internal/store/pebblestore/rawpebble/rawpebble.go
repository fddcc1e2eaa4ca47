// Package rawpebble is Pebble alone, for comparison with a store: it keeps what a store keeps of an
// event, and nothing that follows from it.
package rawpebble

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/directory"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// Open opens Pebble alone, with the options of a store: keep writes one key an event with as many
// bytes, fsynced. Its directory is below that of the store, on the same disk, and is deleted by
// end.
func Open(store string, c directory.Config) (
	keep func(ctx context.Context, events []andon.Event) error, end func() error, err error,
) {
	d := directory.New(c)
	dir := d.FS.PathJoin(store, "bare")
	db, err := pebble.Open(dir, d.Options())
	if err != nil {
		return nil, nil, fmt.Errorf("open Pebble alone in %s: %w", dir, err)
	}
	keep = func(_ context.Context, events []andon.Event) error { return Put(db, events) }
	return keep, func() error { return errors.Join(db.Close(), d.FS.RemoveAll(dir)) }, nil
}

// Put writes the rows of events, fsynced.
func Put(db *pebble.DB, events []andon.Event) error {
	batch, key, value := db.NewBatch(), layout.NewKey(0, 0), []byte(nil)
	defer batch.Close()
	for i := range events {
		e := &events[i]
		key, value = keyOf(key, e), appendEvent(value[:0], e)
		if err := batch.Set(key, value, nil); err != nil {
			return err
		}
	}
	return batch.Commit(pebble.Sync)
}

// keyOf is the key of an event: day 4 | device 0 | state 0 | ^time 8.
func keyOf(k layout.Key, e *andon.Event) layout.Key {
	return k.Begin('e', 1).Number(e.Time.Day()).Text(string(e.Device)).Text(string(e.State)).
		InvertedTime(e.Time)
}

// appendEvent appends operator text | message text | attributes, the rest.
func appendEvent(b []byte, e *andon.Event) []byte {
	b = varint.AppendText(b, e.Operator)
	b = varint.AppendText(b, e.Message)
	return append(b, e.Attributes...)
}
