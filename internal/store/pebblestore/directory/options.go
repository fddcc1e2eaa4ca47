package directory

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// engineFormat is the format of Pebble's own files. Raising it keeps older programs out.
const engineFormat = pebble.FormatValueSeparation

// memTables is how many memtables Pebble has at once: one is written into while another is flushed,
// and the last one that was flushed is kept to be used again.
const memTables = 2

// Options are what the prototypes of this layout measured best: L0 compacted at 12, snappy. Pebble
// takes the memory of memtables out of its cache, so the cache is larger by that: else they would
// leave little of a small one to the blocks, and each read would decompress its blocks again.
func (d *Directory) Options() *pebble.Options {
	p := &pebble.Options{
		FS: d.FS,
		EventListener: &pebble.EventListener{
			DataCorruption: d.Damages.found, BackgroundError: d.Damages.failed,
			WriteStallBegin: func(pebble.WriteStallBeginInfo) { d.Pacing.Stalled.Store(true) },
			WriteStallEnd:   func() { d.Pacing.Stalled.Store(false) },
		},
		Logger:                logger{d},
		Merger:                merger(),
		FormatMajorVersion:    engineFormat,
		MemTableSize:          d.MemTable,
		L0CompactionThreshold: 12,
		L0StopWritesThreshold: engine.L0StopWrites,
		CacheSize:             d.Cache + memTables*int64(d.MemTable),
		MaxOpenFiles:          1000,
		BytesPerSync:          1 << 20,
	}
	for i := range p.Levels { // a record that opens an incident is looked for, and is not there
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	p.Experimental.EnableDeleteOnlyCompactionExcises = func() bool { return true }
	// Else tables that overlap what is in memory are added by a flush, and so is an excise. If that
	// meets damage, Pebble tries the flush again for ever. Now the caller has the error.
	p.Experimental.DisableIngestAsFlushable = func() bool { return true }
	return p
}

// merger has a name of our own, so that the store of another program is refused. Nothing is merged.
func merger() *pebble.Merger {
	return &pebble.Merger{Name: "andon.1", Merge: pebble.DefaultMerger.Merge}
}

type logger struct{ *Directory }

// Infof implements pebble.Logger.
func (l logger) Infof(format string, args ...any) {
	l.Log.Debug("pebble: " + fmt.Sprintf(format, args...))
}

// Errorf implements pebble.Logger.
func (l logger) Errorf(format string, args ...any) {
	l.Log.Error("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf is called by Pebble where it can't go on: a write of its log or manifest failed.
func (l logger) Fatalf(format string, args ...any) {
	err := andon.Errorf(andon.Unavailable, "the store's disk failed: "+format, args...)
	l.Fatal(err)
	panic(err) // Pebble relies on not coming back
}
