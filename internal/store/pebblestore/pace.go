package pebblestore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon/internal/sleep"
)

// Rounds, flushes and compactions would each keep a processor busy for as long as they have work.
// Where requests need most of the processors, they would queue up meanwhile: a second of such work
// is a third of a second for a request. So this work takes a part of the time, and rests between;
// unless it is late, and requests would have to wait for it soon.

const (
	// paceBytes are worked on between two rests. It takes about half a millisecond.
	paceBytes = 64 << 10
	// restShare is how much longer a rest is than the work before it.
	restShare = 2
	// longestRest also bounds what a process that was stopped for a while takes for work.
	longestRest = 5 * time.Millisecond
)

// pacing is what all background work of a store has in common.
type pacing struct {
	stopping context.Context // ends when the store closes: what is left is done at once
	stop     context.CancelFunc
	db       atomic.Pointer[pebble.DB] // nil while it is being opened
	mostLog  uint64                    // bytes of it that are no sign of a flush that is late
	looked   atomic.Int64              // when db was last asked, in nanoseconds of the process
	behind   atomic.Bool               // what it said
	stalled  atomic.Bool               // writes wait for the engine to write a memtable out
}

func newPacing(memTable uint64) *pacing {
	p := &pacing{mostLog: memTable + memTable/4}
	p.stopping, p.stop = context.WithCancel(context.Background())
	return p
}

// pace is that of one piece of work. Nil is that of work that does not rest.
type pace struct {
	*pacing
	late  func() bool // no rest now
	bytes int         // that were worked on since the last rest
	begun time.Duration
}

func (p *pacing) begin(late func() bool) pace {
	return pace{pacing: p, late: late, begun: sinceStart()}
}

// did says that some bytes were worked on, and rests when it is time to.
func (p *pace) did(bytes int) {
	if p == nil {
		return
	}
	if p.bytes += bytes; p.bytes < paceBytes {
		return
	}
	p.bytes = 0
	if !p.late() {
		worked := sinceStart() - p.begun
		_ = sleep.For(p.stopping, min(restShare*worked, longestRest))
	}
	p.begun = sinceStart()
}

// engineLate reports whether the engine makes writes wait, or has so much to write out or to
// compact that it would some time. The engine is asked for that now and then.
func (p *pacing) engineLate() bool {
	const now = 100 * time.Millisecond
	at, looked := sinceStart(), p.looked.Load()
	db := p.db.Load()
	if db != nil && at-time.Duration(looked) > now && p.looked.CompareAndSwap(looked, int64(at)) {
		m := db.Metrics()
		p.behind.Store(m.Levels[0].Sublevels > l0StopWrites/4 || m.WAL.Size > p.mostLog)
	}
	return db == nil || p.behind.Load() || p.stalled.Load()
}

// isPaced reports whether a file is a table that the engine makes of a memtable, or of others.
func isPaced(c vfs.DiskWriteCategory) bool {
	return c == "pebble-memtable-flush" || c == "pebble-compaction"
}

// pacedFile is such a table.
type pacedFile struct {
	vfs.File
	pace pace
}

// Write is of vfs.File.
func (f *pacedFile) Write(b []byte) (int, error) {
	const packed = 2 // bytes that were worked on for each that is written
	f.pace.did(packed * len(b))
	return f.File.Write(b)
}

// paced has a file of the engine written in the pace of background work.
func (p *pacing) paced(f vfs.File) vfs.File {
	return &pacedFile{File: f, pace: p.begin(p.engineLate)}
}

// pacedFS is a file system whose tables are written in the pace of background work. Making any file
// but a log waits where the disk was full just now.
type pacedFS struct {
	vfs.FS
	damages *damages
	pacing  *pacing
}

// Unwrap implements vfs.FS.
func (p pacedFS) Unwrap() vfs.FS { return p.FS }

// Create implements vfs.FS.
func (p pacedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if c != "pebble-wal" {
		p.damages.pace()
	}
	f, err := p.FS.Create(name, c)
	if err != nil || !isPaced(c) {
		return f, err
	}
	return p.pacing.paced(f), nil
}
