package blocks

import (
	"errors"
	"log/slog"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
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
}

// RemoveTables removes the files of a flush or a merge that was interrupted: those whose names have
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

// Kind says what values a Log has, and in which tables.
type Kind struct {
	Name   string // of the values, for people and in the names of files
	Blocks byte   // tenant | day | run | device | times
	Runs   byte   // tenant | day | run
	Days   byte   // tenant | device | ^day: on which days a device has values
	// A device is written as bytes of which none begins with those of another device.

	// Count returns how many values a block has.
	Count func(block []byte) (n int, ok bool)
	// The ranks of the locks of its log.
	Merge, Flush, List engine.Rank
}

// Codec encodes values of a device, compares them and joins them. It may use memory again, so each
// goroutine has its own.
type Codec[T any] interface {
	// Decode appends the values of a block, whose newest is of a time, newest first. They stay
	// valid.
	Decode(values []T, block []byte, newest andon.Time) ([]T, error)
	// Encode appends the first n of values, newest first, as one block. It takes all values of one
	// instant or none, so that no two blocks of a run have values of one instant.
	Encode(b []byte, values []T) (block []byte, n int)
	// Time returns when a value is from.
	Time(value *T) andon.Time
	// Compare is the order in a block: newest first; 0 for two deliveries of one value.
	Compare(a, b *T) int
	// Join makes one value of two deliveries.
	Join(earlier, later T) T
}

func (k *Kind) device(key layout.Key, tenant, day uint32, id layout.RunID, d []byte) layout.Key {
	return append(key.Begin(k.Blocks, tenant).Run(day, id), d...)
}

func (k *Kind) run(tenant, day uint32, id layout.RunID) layout.Key {
	return layout.NewKey(k.Runs, tenant).Run(day, id)
}

func (k *Kind) span(tenant, day uint32, first, last layout.RunID) pebble.KeyRange {
	return pebble.KeyRange{
		Start: layout.NewKey(k.Blocks, tenant).Run(day, first),
		End:   layout.NewKey(k.Blocks, tenant).Run(day, last).End(),
	}
}
