package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// tables writes the rows of a round beside the log and the memtable: it sorts them, makes tables of
// them and gives those to the engine, which syncs them. So each is written once, and not three
// times. A round that has little goes through the log, because many small tables cost more.
type tables struct {
	store *Store
	name  string // of the files that are being made
	pace  *pace
	bytes []byte
	rows  map[byte][]putRow // by table, where rows mostly come in their order
	// instead is what rows of the same table stand in place of: all that is there of it is deleted.
	instead span
}

// putRow is where in tables.bytes a row has its key and its value.
type putRow struct{ key, value, end uint32 }

const (
	defaultTable = 8 << 20        // bytes of tables that are made at once, about
	roundPrefix  = "andon.round-" // of tables that are being made
	entryTables  = roundPrefix + "entries-"
	readTables   = roundPrefix + "readings-"
	mergeTables  = roundPrefix + "merge-"
)

func (w *tables) put(k key, value []byte) error {
	if w.add(k, value); len(w.bytes) < w.store.options.table {
		return nil
	}
	return w.ingest()
}

// add is put of what is to be in one table.
func (w *tables) add(k key, value []byte) {
	if w.rows == nil {
		w.rows = map[byte][]putRow{}
	}
	from := uint32(len(w.bytes))
	w.bytes = append(append(w.bytes, k...), value...)
	row := putRow{from, from + uint32(len(k)), uint32(len(w.bytes))}
	w.rows[k[0]] = append(w.rows[k[0]], row)
}

// end writes what is left, without waiting for the disk where it goes through the log.
func (w *tables) end() error {
	const little = 16 // parts of a table
	if len(w.bytes) >= w.store.options.table/little {
		return w.ingest()
	}
	batch := w.store.db.NewBatch()
	defer batch.Close()
	for _, rows := range w.rows {
		for _, r := range rows {
			if err := batch.Set(w.bytes[r.key:r.value], w.bytes[r.value:r.end], nil); err != nil {
				return err
			}
		}
	}
	return batch.Commit(pebble.NoSync)
}

// ingest makes a table of what has come together in each of the store's tables.
func (w *tables) ingest() (err error) {
	var paths []string
	for _, table := range slices.Sorted(maps.Keys(w.rows)) {
		rows := w.rows[table]
		if len(rows) == 0 || err != nil {
			continue
		}
		slices.SortFunc(rows, func(a, b putRow) int {
			return bytes.Compare(w.bytes[a.key:a.value], w.bytes[b.key:b.value])
		})
		fs := w.store.options.FS
		path := fs.PathJoin(w.store.disk.dir, fmt.Sprintf("%s%d.sst", w.name, len(paths)))
		paths = append(paths, path)
		err = w.write(path, rows)
	}
	if err == nil {
		err = w.store.db.Ingest(context.Background(), paths)
	}
	if err != nil {
		err = fmt.Errorf("write tables of a round: %w", err)
		return errors.Join(err, w.store.removeRound(w.name))
	}
	w.bytes = w.bytes[:0]
	for table, rows := range w.rows {
		w.rows[table] = rows[:0]
	}
	return nil
}

func (w *tables) write(path string, rows []putRow) error {
	f, err := w.store.options.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	o := pebbleOptions(&w.store.options)
	o.EnsureDefaults()
	const lowest = 6
	table := sstable.NewWriter(objstorageprovider.NewFileWritable(f),
		o.MakeWriterOptions(lowest, w.store.db.TableFormat()))
	if of := w.instead.from; of != nil && of[0] == w.bytes[rows[0].key] {
		if err := table.DeleteRange(of, w.instead.to); err != nil {
			return errors.Join(err, table.Close())
		}
	}
	for _, r := range rows {
		w.pace.did(int(r.end - r.key))
		if err := table.Set(w.bytes[r.key:r.value], w.bytes[r.value:r.end]); err != nil {
			return errors.Join(err, table.Close())
		}
	}
	return table.Close()
}

// removeRound removes what a round that was broken off has left in the directory: files whose names
// have a prefix.
func (s *Store) removeRound(prefix string) error {
	fs := s.options.FS
	names, err := fs.List(s.disk.dir)
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			err = errors.Join(err, fs.Remove(fs.PathJoin(s.disk.dir, name)))
		}
	}
	return err
}
