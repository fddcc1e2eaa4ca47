package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// tables writes the rows of a round beside the log and the memtable: it sorts them, makes tables of
// them and gives those to the engine, which syncs them. So each is written once, and not three
// times. A round that has little goes through the log, because many small tables cost more.
type tables struct {
	store *Store
	name  string // of the files that are being made
	pace  *engine.Pace
	bytes []byte
	rows  [256][]putRow // by table, where rows mostly come in their order
	files int           // that were made
	paths []string      // of those that the engine has not taken in
	// instead is what the rows stand in place of. The engine excises it when it takes them in,
	// which is all at once then. Nothing may be read of it meanwhile: an iterator that is opened
	// then may see neither.
	instead engine.Span
}

// putRow is where in tables.bytes a row has its key and its value.
type putRow struct{ key, value, end uint32 }

const (
	defaultTable = 8 << 20        // bytes of tables that are made at once, about
	roundPrefix  = "andon.round-" // of tables that are being made
	entryTables  = roundPrefix + "entries-"
	readTables   = roundPrefix + "readings-"
	deviceTables = roundPrefix + "devices-"
	mergeTables  = roundPrefix + "merge-"

	little = 16 // parts of a table: less than one of them goes through the log
)

func (w *tables) put(k layout.Key, value []byte) error {
	w.add(k, value)
	return w.settleSome()
}

// settleSome writes what has come together when it is enough for a table.
func (w *tables) settleSome() error {
	switch {
	case len(w.bytes) < w.store.options.table:
		return nil
	case w.instead.From != nil:
		return w.flush()
	}
	return w.ingest()
}

// add is put of one of several rows that settleSome is called behind.
func (w *tables) add(k layout.Key, value []byte) {
	from := uint32(len(w.bytes))
	w.bytes = append(append(w.bytes, k...), value...)
	row := putRow{from, from + uint32(len(k)), uint32(len(w.bytes))}
	rows := &w.rows[k[0]]
	*rows = append(*rows, row)
}

func (w *tables) key(r putRow) layout.Key { return w.bytes[r.key:r.value] }

// end writes what is left, without waiting for the disk where it goes through the log.
func (w *tables) end() error {
	if len(w.bytes) >= w.store.options.table/little {
		return w.ingest()
	}
	batch := w.store.db.NewBatch()
	defer batch.Close()
	for _, rows := range &w.rows {
		for _, r := range rows {
			if err := batch.Set(w.key(r), w.bytes[r.value:r.end], nil); err != nil {
				return err
			}
		}
	}
	return batch.Commit(pebble.NoSync)
}

// ingest has the engine take in what was put.
func (w *tables) ingest() error {
	err := w.flush()
	switch {
	case err != nil:
		return err
	case w.instead.From != nil:
		_, err = w.store.db.IngestAndExcise(context.Background(), w.paths, nil, nil,
			pebble.KeyRange{Start: w.instead.From, End: w.instead.To})
	default:
		err = w.store.db.Ingest(context.Background(), w.paths)
	}
	w.paths = w.paths[:0]
	return w.failed(err)
}

func (w *tables) failed(err error) error {
	if err != nil {
		err = fmt.Errorf("write tables of a round: %w", err)
		err = errors.Join(err, w.store.removeRound(w.name))
	}
	return err
}

// flush makes a file of what has come together in each of the store's tables.
func (w *tables) flush() error {
	byKey := func(a, b putRow) int { return bytes.Compare(w.key(a), w.key(b)) }
	for table, rows := range &w.rows {
		if !slices.IsSortedFunc(rows, byKey) {
			slices.SortStableFunc(rows, byKey)
		}
		for len(rows) > 0 {
			n := w.part(rows)
			if err := w.write(rows[:n]); err != nil {
				return w.failed(err)
			}
			rows = rows[n:]
		}
		w.rows[table] = w.rows[table][:0]
	}
	w.bytes = w.bytes[:0]
	return nil
}

// part returns how many rows go into one file. Blocks of two days are in two, if these are not very
// small: a merge drops a day, and the file with it.
func (w *tables) part(rows []putRow) (n int) {
	const (
		day  = 1 + 4 + 4 // table, tenant, day
		some = 64        // parts of a table
	)
	first := rows[0]
	if w.bytes[first.key] != layout.TableBlock {
		return len(rows)
	}
	size := uint32(0)
	for ; n < len(rows); n++ {
		r := rows[n]
		if size >= uint32(w.store.options.table/some) &&
			!bytes.Equal(w.bytes[r.key:r.key+day], w.bytes[first.key:first.key+day]) {
			break
		}
		size += r.end - r.key
	}
	return n
}

func (w *tables) write(rows []putRow) error {
	fs := w.store.options.FS
	path := fs.PathJoin(w.store.disk.dir, fmt.Sprintf("%s%d.sst", w.name, w.files))
	w.paths = append(w.paths, path)
	w.files++
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	o := pebbleOptions(&w.store.options)
	o.EnsureDefaults()
	const lowest = 6
	of := o.MakeWriterOptions(lowest, w.store.db.TableFormat())
	if w.name == deviceTables {
		of.BlockSize = 32 << 10 // opening reads all of them, and the engine does not compact them
	}
	table := sstable.NewWriter(objstorageprovider.NewFileWritable(f), of)
	for i, r := range rows {
		if i+1 < len(rows) && bytes.Equal(w.key(r), w.key(rows[i+1])) {
			continue // it was put again
		}
		w.pace.Did(int(r.end - r.key))
		if err := table.Set(w.key(r), w.bytes[r.value:r.end]); err != nil {
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
