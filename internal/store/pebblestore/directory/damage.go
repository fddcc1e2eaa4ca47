package directory

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

// Damages are the tables of which something could not be read. A query that needs that part is
// refused; all others go on, and so does writing.
type Damages struct {
	log   *slog.Logger
	pause time.Duration

	full    chan error  // background work found the disk full
	wasFull atomic.Bool // the disk was full just before
	met     atomic.Bool // a compaction met damage just before

	mu       sync.Mutex
	files    []string      // sorted
	reported time.Duration // when an error was logged last
}

// damagePause is how long a compaction that met damage waits before the next one may begin. Pebble
// begins one that failed again at once, without end; this keeps it from taking a core and the disk
// for it. Queries that meet damage do not wait: they hold the slot of a reader.
const damagePause = time.Second

type pausedCompactions struct {
	pebble.CompactionScheduler
	damages *Damages
}

// newPausedCompactions returns one for one database. The scheduler that it wraps has "ForTest" in
// its name, and is what Pebble itself takes, but for a poll for a limit that rises while a
// compaction runs. The limit here is always one.
func newPausedCompactions(d *Damages) pausedCompactions {
	return pausedCompactions{pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest(), d}
}

// Register passes on a database whose compactions pause.
func (c pausedCompactions) Register(goroutines int, db pebble.DBForCompaction) {
	c.CompactionScheduler.Register(goroutines, pausedDB{db, c.damages})
}

// TrySchedule returns a grant that pauses.
func (c pausedCompactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	ok, grant := c.CompactionScheduler.TrySchedule()
	return ok, pausedGrant{grant, c.damages}
}

type pausedDB struct {
	pebble.DBForCompaction
	damages *Damages
}

// Schedule passes on a grant that pauses.
func (db pausedDB) Schedule(grant pebble.CompactionGrantHandle) bool {
	return db.DBForCompaction.Schedule(pausedGrant{grant, db.damages})
}

type pausedGrant struct {
	pebble.CompactionGrantHandle
	damages *Damages
}

// Done is called without a lock of Pebble's, after a compaction has ended and before the next one.
func (g pausedGrant) Done() {
	if g.damages.met.Swap(false) {
		<-time.After(g.damages.pause)
	}
	g.CompactionGrantHandle.Done()
}

func newDamages(log *slog.Logger, pause time.Duration) *Damages {
	return &Damages{log: log, pause: pause, full: make(chan error, 1)}
}

// found is called by Pebble where it reads. A file is reported once.
func (d *Damages) found(info pebble.DataCorruptionInfo) {
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
	d.log.Error("a file of the store is damaged: queries that need what can't be read of it are "+
		"refused, all else goes on; restore it from a backup", "file", info.Path,
		"error", info.Details)
}

// failed is called by Pebble, which holds its lock, where background work failed. Damage was
// reported by found. Pebble tries again at once, so other errors are not reported each time.
func (d *Damages) failed(err error) {
	if pebble.IsCorruptionError(err) {
		d.met.Store(true)
		return
	}
	if errors.Is(err, pebble.ErrCancelledCompaction) {
		return // an excise cancelled it: Pebble tries again at once
	}
	if errors.Is(err, syscall.ENOSPC) {
		d.wasFull.Store(true)
		select {
		case d.full <- err:
		default:
		}
	}
	d.mu.Lock()
	now := engine.SinceStart()
	due := d.reported == 0 || now-d.reported > 10*time.Second
	if due {
		d.reported = now
	}
	d.mu.Unlock()
	if due {
		d.log.Error("pebble: background error", "error", err)
	}
}

// rest keeps Pebble from trying to write to a full disk again and again.
func (d *Damages) rest() {
	if d.wasFull.Swap(false) {
		<-time.After(d.pause)
	}
}

// List returns the names of the files, sorted.
func (d *Damages) List() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.files)
}

// stuck returns an error while a damaged table in level 0 keeps that level from being compacted.
// Pebble would take some more, and then let all writing wait without end. Below level 0 it compacts
// around such a table.
func (d *Directory) stuck() error {
	files := d.Damages.List()
	if len(files) == 0 || d.DB.Metrics().Levels[0].Sublevels < engine.L0StopWrites/2 {
		return nil
	}
	levels, err := d.DB.SSTables()
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
