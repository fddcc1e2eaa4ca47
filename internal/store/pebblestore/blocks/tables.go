package blocks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Tables writes the rows of a flush past the log and the memtable of the engine: it sorts them,
// makes tables of them and has the engine ingest those, which syncs them. So each is written once,
// and not three times. A flush that has little goes through the log, because many small tables cost
// more.
type Tables struct {
	*Env
	name  string // of the files that are being made
	pace  *engine.Pace
	bytes []byte
	rows  [256][]putRow // by table, where rows mostly come in their order
	files int           // that were made
	paths []string      // of those that the engine has not ingested
	// instead is the span whose rows these replace. The engine excises it as it ingests the tables,
	// all at once then. Nothing may be read of it meanwhile: an iterator that is opened during that
	// may see neither.
	instead pebble.KeyRange
}

// NewTables returns a writer of tables whose files have names of their own. It will write about so
// many bytes.
func NewTables(e *Env, name string, p *engine.Pace, bytes int) Tables {
	most := e.Table + e.Table/16 // where one more row fills it
	return Tables{Env: e, name: name, pace: p, bytes: make([]byte, 0, min(bytes, most))}
}

// putRow is the place of a row in Tables.bytes.
type putRow struct{ key, value, end uint32 }

// Names of tables that are being made, and their size.
const (
	DefaultTable  = 8 << 20        // bytes of tables that are made at once, about
	TablePrefix   = "andon.flush-" // of tables that are being made
	EntryTables   = TablePrefix + "entries-"
	ReadingTables = TablePrefix + "readings-"
	mergeTables   = TablePrefix + "merge-"

	little = 16 // parts of a table: less than one of them goes through the log
)

// Put writes a row.
func (w *Tables) Put(k layout.Key, value []byte) error {
	w.Add(k, value)
	return w.Spill()
}

// Spill makes tables of what there is, once it is enough.
func (w *Tables) Spill() error {
	switch {
	case len(w.bytes) < w.Table:
		return nil
	case w.instead.Valid():
		return w.flush()
	}
	return w.Ingest()
}

// Add is Put of one of several rows, after which the caller calls Spill.
func (w *Tables) Add(k layout.Key, value []byte) {
	from := uint32(len(w.bytes))
	w.bytes = append(append(w.bytes, k...), value...)
	row := putRow{from, from + uint32(len(k)), uint32(len(w.bytes))}
	rows := &w.rows[k[0]]
	*rows = append(*rows, row)
}

func (w *Tables) key(r putRow) layout.Key { return w.bytes[r.key:r.value] }

// End writes what is left, without waiting for the disk where it goes through the log.
func (w *Tables) End() error {
	if len(w.bytes) >= w.Table/little {
		return w.Ingest()
	}
	batch := w.DB.NewBatch()
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

// Ingest has the engine ingest what was put.
func (w *Tables) Ingest() error {
	if err := w.flush(); err != nil {
		return err
	}
	err := w.Pacing.Urgently(func() (err error) {
		if w.instead.Valid() {
			_, err = w.DB.IngestAndExcise(context.Background(), w.paths, nil, nil, w.instead)
			return err
		}
		return w.DB.Ingest(context.Background(), w.paths)
	})
	w.paths = w.paths[:0]
	return w.failed(err)
}

func (w *Tables) failed(err error) error {
	if err != nil {
		err = fmt.Errorf("write tables: %w", err)
		err = errors.Join(err, w.RemoveTables(w.name))
	}
	return err
}

// flush makes a file of what has come together in each of the store's tables.
func (w *Tables) flush() error {
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
func (w *Tables) part(rows []putRow) (n int) {
	const (
		day  = 1 + 4 + 4 // table, tenant, day
		some = 64        // parts of a table
	)
	first := rows[0]
	if t := w.bytes[first.key]; t != layout.TableBlock && t != layout.TableReadingBlock {
		return len(rows)
	}
	size := uint32(0)
	for ; n < len(rows); n++ {
		r := rows[n]
		if size >= uint32(w.Table/some) &&
			!bytes.Equal(w.bytes[r.key:r.key+day], w.bytes[first.key:first.key+day]) {
			break
		}
		size += r.end - r.key
	}
	return n
}

func (w *Tables) write(rows []putRow) error {
	path := w.FS.PathJoin(w.Dir, fmt.Sprintf("%s%d.sst", w.name, w.files))
	w.paths = append(w.paths, path)
	w.files++
	f, err := w.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	o := w.Options()
	o.EnsureDefaults()
	const lowest = 6
	table := sstable.NewWriter(objstorageprovider.NewFileWritable(f),
		o.MakeWriterOptions(lowest, w.DB.TableFormat()))
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

// Pending returns how many bytes of rows are in memory.
func (w *Tables) Pending() int { return len(w.bytes) }

// Did says that so many bytes were worked on.
func (w *Tables) Did(bytes int) { w.pace.Did(bytes) }
