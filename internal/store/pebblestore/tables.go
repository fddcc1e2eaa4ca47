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
)

// tables writes the rows of a round beside the log and the memtable: it sorts them, makes tables of
// them and gives those to the engine, which syncs them. So each is written once, and not three
// times. A round that has little goes through the log, because many small tables cost more.
type tables struct {
	store *Store
	name  string // of the files that are being made
	pace  *pace
	parts [256]tableRows // by the first byte of their keys
	bytes int
}

// tableRows is the rows of one of the store's tables. Within one of them rows come nearly sorted.
type tableRows struct {
	bytes []byte
	rows  []putRow
	// instead is what the rows stand in place of: all that is there of it is deleted.
	instead span
}

// putRow is where in tableRows.bytes a row has its key and its value.
type putRow struct{ key, value, end uint32 }

func (p *tableRows) key(r putRow) []byte { return p.bytes[r.key:r.value] }

const (
	defaultTable = 8 << 20        // bytes of tables that are made at once, about
	roundPrefix  = "andon.round-" // of tables that are being made
	entryTables  = roundPrefix + "entries-"
	readTables   = roundPrefix + "readings-"
	mergeTables  = roundPrefix + "merge-"
)

func (w *tables) put(k key, value []byte) error {
	if w.add(k, value); w.bytes < w.store.options.table {
		return nil
	}
	return w.ingest()
}

// add is put of what is to be in one table.
func (w *tables) add(k key, value []byte) {
	p := &w.parts[k[0]]
	from := uint32(len(p.bytes))
	p.bytes = append(append(p.bytes, k...), value...)
	p.rows = append(p.rows, putRow{from, from + uint32(len(k)), uint32(len(p.bytes))})
	w.bytes += len(k) + len(value)
}

// end writes what is left, without waiting for the disk where it goes through the log.
func (w *tables) end() error {
	const little = 16 // parts of a table
	if w.bytes >= w.store.options.table/little {
		return w.ingest()
	}
	batch := w.store.db.NewBatch()
	defer batch.Close()
	for i := range w.parts {
		p := &w.parts[i]
		for _, r := range p.rows {
			if err := batch.Set(p.key(r), p.bytes[r.value:r.end], nil); err != nil {
				return err
			}
		}
	}
	return batch.Commit(pebble.NoSync)
}

// ingest makes a table of what has come together in each of the store's tables.
func (w *tables) ingest() (err error) {
	var paths []string
	for i := range w.parts {
		p := &w.parts[i]
		if len(p.rows) == 0 || err != nil {
			continue
		}
		slices.SortFunc(p.rows, func(a, b putRow) int { return bytes.Compare(p.key(a), p.key(b)) })
		fs := w.store.options.FS
		path := fs.PathJoin(w.store.disk.dir, fmt.Sprintf("%s%d.sst", w.name, len(paths)))
		paths = append(paths, path)
		err = w.write(path, p)
	}
	if err == nil {
		err = w.store.db.Ingest(context.Background(), paths)
	}
	if err != nil {
		err = fmt.Errorf("write tables of a round: %w", err)
		return errors.Join(err, w.store.removeRound(w.name))
	}
	for i := range w.parts {
		w.parts[i].bytes, w.parts[i].rows = w.parts[i].bytes[:0], w.parts[i].rows[:0]
	}
	w.bytes = 0
	return nil
}

func (w *tables) write(path string, p *tableRows) error {
	f, err := w.store.options.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	o := pebbleOptions(&w.store.options)
	o.EnsureDefaults()
	const lowest = 6
	table := sstable.NewWriter(objstorageprovider.NewFileWritable(f),
		o.MakeWriterOptions(lowest, w.store.db.TableFormat()))
	if p.instead.from != nil {
		if err := table.DeleteRange(p.instead.from, p.instead.to); err != nil {
			return errors.Join(err, table.Close())
		}
	}
	for _, r := range p.rows {
		w.pace.did(int(r.end - r.key))
		if err := table.Set(p.key(r), p.bytes[r.value:r.end]); err != nil {
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
