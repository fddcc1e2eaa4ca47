package pebblestore

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

// RawPebble opens Pebble alone, with the options of a store, for comparison: keep writes one key an
// event with as many bytes, fsynced. Its directory is below that of the store, on the same disk,
// and is deleted by end.
func RawPebble(store string, o Options) (
	keep func(ctx context.Context, events []andon.Event) error, end func() error, err error,
) {
	o.complete()
	d := directory.New(o.directory(store))
	dir := d.FS.PathJoin(store, "bare")
	db, err := pebble.Open(dir, d.Options())
	if err != nil {
		return nil, nil, fmt.Errorf("open Pebble alone in %s: %w", dir, err)
	}
	keep = func(_ context.Context, events []andon.Event) error {
		return putRaw(db, events)
	}
	return keep, func() error { return errors.Join(db.Close(), d.FS.RemoveAll(dir)) }, nil
}

// putRaw writes the rows of events, and nothing that follows from them.
func putRaw(db *pebble.DB, events []andon.Event) error {
	x := encoder{batch: db.NewBatch(), key: layout.NewKey(0, 0)}
	defer x.batch.Close()
	for i := range events {
		e := &events[i]
		x.key = rawKey(x.key, e)
		x.value = appendEvent(x.value[:0], e, e.Operator)
		if err := x.batch.Set(x.key, x.value, nil); err != nil {
			return err
		}
	}
	return x.batch.Commit(pebble.Sync)
}

// rawKey is the key of an event in raw Pebble: day 4 | device 0 | state 0 | ^time 8.
func rawKey(k layout.Key, e *andon.Event) layout.Key {
	return k.Begin('e', 1).Number(e.Time.Day()).Text(string(e.Device)).Text(string(e.State)).
		InvertedTime(e.Time)
}

// appendEvent appends operator text | message text | attributes, the rest.
func appendEvent(b []byte, e *andon.Event, operator andon.PersonID) []byte {
	b = varint.AppendText(b, operator)
	b = varint.AppendText(b, e.Message)
	return append(b, e.Attributes...)
}

// Size implements andon.Maintenance: the bytes of the tables that are in use. Those that a
// compaction has made superfluous are not counted, removed or not.
func (s *Store) Size(context.Context) (int64, error) {
	if err := s.db.Flush(); err != nil {
		return 0, fmt.Errorf("write out what is in memory: %w", err)
	}
	m := s.db.Metrics()
	return int64(m.Table.Local.LiveSize + m.BlobFiles.Local.LiveSize), nil
}
