package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon/internal/sleep"
)

const (
	// PaceBytes are worked on between two rests. It takes about half a millisecond.
	PaceBytes = 64 << 10
	// restShare is how much longer a rest is than the work before it.
	restShare = 2
	// longestRest also bounds what a process that was stopped for a while takes for work.
	longestRest = 5 * time.Millisecond
)

// Pacing is shared by all background work of a store.
type Pacing struct {
	Stopping context.Context // ends when the store closes: no more rests then
	Stop     context.CancelFunc
	DB       atomic.Pointer[pebble.DB] // nil while it is being opened
	mostLog  uint64                    // bytes of it that are no sign of a flush that is late
	Looked   atomic.Int64              // when DB was last asked, by the process's clock
	busy     atomic.Bool               // what it said
	Stalled  atomic.Bool               // writes wait for the engine to write a memtable out
	urgent   atomic.Int32              // calls of Urgently
}

// NewPacing returns one of a store whose memtables have so many bytes.
func NewPacing(memTable uint64) *Pacing {
	p := &Pacing{mostLog: memTable + memTable/4}
	p.Stopping, p.Stop = context.WithCancel(context.Background())
	return p
}

// Pace is the pace of one job. Nil: the job does not rest.
type Pace struct {
	*Pacing
	late  func() bool // no rest now
	bytes int         // that were worked on since the last rest
	begun time.Duration
}

// Begin returns the pace of a job, which does not rest while it is late.
func (p *Pacing) Begin(late func() bool) Pace {
	return Pace{Pacing: p, late: late, begun: SinceStart()}
}

// Did says that some bytes were worked on, and rests when it is time to.
func (p *Pace) Did(bytes int) {
	if p == nil {
		return
	}
	if p.bytes += bytes; p.bytes < PaceBytes {
		return
	}
	p.bytes = 0
	if !p.late() {
		worked := SinceStart() - p.begun
		_ = sleep.For(p.Stopping, min(restShare*worked, longestRest))
	}
	p.begun = SinceStart()
}

// EngineLate reports whether the engine makes writes wait, or has so much to write out or to
// compact that it would some time. The engine is asked for that now and then.
func (p *Pacing) EngineLate() bool {
	const now = 100 * time.Millisecond
	at, looked := SinceStart(), p.Looked.Load()
	db := p.DB.Load()
	if db != nil && at-time.Duration(looked) > now && p.Looked.CompareAndSwap(looked, int64(at)) {
		m := db.Metrics()
		p.busy.Store(m.Levels[0].Sublevels > L0StopWrites/4 || m.WAL.Size > p.mostLog)
	}
	return db == nil || p.busy.Load() || p.Stalled.Load() || p.urgent.Load() > 0
}

// Urgently calls what ingests or excises tables, while the engine does not rest: it may have to
// write a memtable out first, and no write ends before that.
func (p *Pacing) Urgently(do func() error) error {
	p.urgent.Add(1)
	defer p.urgent.Add(-1)
	return do()
}

// IsPaced reports whether a file is a table that the engine makes of a memtable, or of others.
func IsPaced(c vfs.DiskWriteCategory) bool {
	return c == "pebble-memtable-flush" || c == "pebble-compaction"
}

type pacedFile struct {
	vfs.File
	pace Pace
}

// Write implements vfs.File.
func (f *pacedFile) Write(b []byte) (int, error) {
	const packed = 2 // bytes that were worked on for each that is written
	f.pace.Did(packed * len(b))
	return f.File.Write(b)
}

// Paced has a file of the engine written in the pace of background work.
func (p *Pacing) Paced(f vfs.File) vfs.File {
	return &pacedFile{File: f, pace: p.Begin(p.EngineLate)}
}

// L0StopWrites is how many tables may lie above each other in level 0 before writing waits.
const L0StopWrites = 64
