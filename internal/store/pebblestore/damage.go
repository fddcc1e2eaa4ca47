package pebblestore

import (
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// damages are the tables of which something could not be read. A question that needs it has no
// answer; all others go on, and so does writing.
type damages struct {
	log   *slog.Logger
	pause time.Duration

	full  chan error  // work in the background found the disk full
	tired atomic.Bool // it was full just now
	met   atomic.Bool // a compaction met damage just now

	mu    sync.Mutex
	files []string // sorted
	told  time.Duration
}

// damagePause is how long a compaction that met damage waits before the next one may begin. Pebble
// begins one that failed again at once, without end; this keeps it from taking a core and the disk
// for it. Queries that meet damage do not wait: they hold a reader's slot.
const damagePause = time.Second

// restedCompactions is Pebble's scheduler of compactions with that pause.
type restedCompactions struct {
	pebble.CompactionScheduler
	damages *damages
}

// newRestedCompactions returns one for one database. The scheduler that it wraps has "ForTest" in
// its name, and is what Pebble itself takes, but for a poll for a limit that rises while a
// compaction runs. The limit here is always one.
func newRestedCompactions(d *damages) restedCompactions {
	return restedCompactions{pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest(), d}
}

// Register passes on a database whose compactions pause.
func (c restedCompactions) Register(goroutines int, db pebble.DBForCompaction) {
	c.CompactionScheduler.Register(goroutines, restedDB{db, c.damages})
}

// TrySchedule returns a grant that pauses.
func (c restedCompactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	ok, grant := c.CompactionScheduler.TrySchedule()
	return ok, restedGrant{grant, c.damages}
}

type restedDB struct {
	pebble.DBForCompaction
	damages *damages
}

// Schedule passes on a grant that pauses.
func (db restedDB) Schedule(grant pebble.CompactionGrantHandle) bool {
	return db.DBForCompaction.Schedule(restedGrant{grant, db.damages})
}

type restedGrant struct {
	pebble.CompactionGrantHandle
	damages *damages
}

// Done is called without a lock of Pebble's, after a compaction has ended and before the next one.
func (g restedGrant) Done() {
	if g.damages.met.Swap(false) {
		<-time.After(g.damages.pause)
	}
	g.CompactionGrantHandle.Done()
}

func newDamages(log *slog.Logger) *damages {
	return &damages{log: log, pause: damagePause, full: make(chan error, 1)}
}

// found is called by Pebble where it reads. A file is told of once.
func (d *damages) found(info pebble.DataCorruptionInfo) {
	file := path.Base(info.Path)
	d.mu.Lock()
	i, known := slices.BinarySearch(d.files, file)
	if !known {
		d.files = slices.Insert(d.files, i, file)
	}
	d.mu.Unlock()
	if known {
		return
	}
	d.log.Error("a file of the store is damaged: questions that need what can't be read of it are "+
		"refused, all else goes on; restore it from a backup", "file", info.Path,
		"error", info.Details)
}

// failed is called by Pebble, which holds its lock, where work in the background failed. What is
// damaged was told of. What failed is tried again at once, so it is not told of each time.
func (d *damages) failed(err error) {
	if pebble.IsCorruptionError(err) {
		d.met.Store(true)
		return
	}
	if errors.Is(err, pebble.ErrCancelledCompaction) {
		return // an excise came in between: the engine tries again at once
	}
	if errors.Is(err, syscall.ENOSPC) {
		d.tired.Store(true)
		select {
		case d.full <- err:
		default:
		}
	}
	d.mu.Lock()
	now := engine.SinceStart()
	due := d.told == 0 || now-d.told > 10*time.Second
	if due {
		d.told = now
	}
	d.mu.Unlock()
	if due {
		d.log.Error("pebble: background error", "error", err)
	}
}

// pace keeps Pebble from trying to write to a full disk without a rest.
func (d *damages) pace() {
	if d.tired.Swap(false) {
		<-time.After(d.pause)
	}
}

// list returns the names of the files, sorted.
func (d *damages) list() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.files)
}

// Damage implements andon.Maintenance.
func (s *Store) Damage() []string { return s.damages.list() }

// stuck returns an error while a damaged table in level 0 keeps that level from being compacted.
// Pebble would take some more, and then let all writing wait without end. Below, it goes round it.
func (s *Store) stuck() error {
	files := s.damages.list()
	if len(files) == 0 || s.db.Metrics().Levels[0].Sublevels < engine.L0StopWrites/2 {
		return nil
	}
	levels, err := s.db.SSTables()
	if err != nil || len(levels) == 0 {
		return nil
	}
	for _, table := range levels[0] {
		name := fmt.Sprintf("%06d.sst", uint64(table.FileNum))
		if slices.Contains(files, name) {
			return andon.Errorf(andon.Damaged,
				"%s is damaged and keeps the store from compacting what is new, so it takes "+
					"nothing more: restore it from a backup", name)
		}
	}
	return nil
}

// openError is the error of opening the engine.
func openError(dir string, err error) error {
	if err = lostFormat(dir, err); pebble.IsCorruptionError(err) {
		return andon.Errorf(andon.Damaged,
			"the store is damaged where it can't do without: %w. Restore it from a backup", err)
	}
	return err
}
