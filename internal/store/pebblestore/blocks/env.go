package blocks

import (
	"errors"
	"log/slog"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// Env is what flushes and merges need of the store that they work for.
type Env struct {
	DB       *pebble.DB
	FS       vfs.FS
	Dir      string
	Table    int    // bytes of a table that is made
	MemTable uint64 // bytes of a memtable of the engine
	Pacing   *engine.Pacing
	Log      *slog.Logger
	Options  func() *pebble.Options // those that the engine was opened with
	Check    func() error           // Full while there is no space to merge
	Tenants  func() []*Tenant       // those that there are
}

// RemoveTables removes the files of a flush or a merge that was broken off: those whose names have
// a prefix.
func (e *Env) RemoveTables(prefix string) error {
	names, err := e.FS.List(e.Dir)
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			err = errors.Join(err, e.FS.Remove(e.FS.PathJoin(e.Dir, name)))
		}
	}
	return err
}

// ForgetRows has the engine flush its memtable if much of it is rows that are deleted now. Those
// are then never written to a table; after the next rows they would be written and compacted away.
// While another memtable is being flushed the engine would have all writes wait for that: then they
// leave with the memtable once it is full.
func (e *Env) ForgetRows(bytes int64) error {
	if bytes < int64(e.MemTable)/4 || e.DB.Metrics().MemTable.Count > 1 {
		return nil
	}
	_, err := e.DB.AsyncFlush()
	return err
}
