// Package directory has the directory of an embedded store to itself, and opens Pebble there.
//
// What is in it. Pebble deletes every table and log that its manifest does not name. So the
// names in a directory are looked at before Pebble sees it: a directory of another program, a store
// that lost the file which names its manifest, and a restore that was interrupted are refused, and
// nothing is changed. The same holds for a newer format of Pebble, damage of its manifest or logs
// (package walcheck), and a disk without space for what opening writes.
//
// Owner. One process at a time has a directory. The lock is the operating system's. A file says
// which process that is, for the error of a second one.
//
// File systems. Between Pebble and the disk are these, from the outside in: one that notes how much
// of each write-ahead log is synced (package walcheck), by which the process ends when a log fails;
// one that writes tables in the pace of background work (paced.go); and one that lets only the
// owner read the files (private.go).
//
// Failing disks. Disk refuses writes while a reserve of the disk is touched, because Pebble ends
// the process on a full disk. Damages lists the tables of which something could not be read. They
// do not keep the rest from being read, or the store from writing, but where a damaged table keeps
// Pebble from compacting level 0.
//
// Contract:
//
//   - New reads and writes nothing. Occupy makes nothing but the files of the owner.
//   - After an error of Occupy or Open the directory is given back, as soon as Pebble has left it.
//   - Close gives the directory back.
//
// The package knows the files of Pebble, and no key or value in them.
package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/walcheck"
)

// Config says which directory, and how Pebble works there.
type Config struct {
	FS       vfs.FS // nil: that of the operating system, with files that only their owner may read
	Path     string
	Owner    string // what this process says of itself
	Log      *slog.Logger
	Fatal    func(error)   // ends the process
	Reserve  int64         // bytes of the disk that are left free
	Cache    int64         // bytes of blocks that are kept in memory
	MemTable uint64        // bytes of one of Pebble's memtables
	Pause    time.Duration // after background work that met damage; 0: a second
	Pacing   *engine.Pacing
}

// Directory is the directory of a store.
type Directory struct {
	Config
	Desc    *pebble.DBDesc // after Occupy: what Pebble finds
	DB      *pebble.DB     // after Open
	Disk    Disk
	Damages *Damages

	release func()
	cache   *pebble.Cache
	watched *walcheck.FS
	opened  atomic.Bool
}

// New returns the directory of a configuration.
func New(c Config) *Directory {
	if c.FS == nil {
		c.FS = private{vfs.Default}
	}
	if c.Pause == 0 {
		c.Pause = damagePause
	}
	d := &Directory{Config: c, Damages: newDamages(c.Log, c.Pause)}
	d.Disk = Disk{fs: c.FS, dir: c.Path, reserve: c.Reserve, stuck: d.stuck}
	return d
}

// Occupy takes the directory, which exists, for this process.
func (d *Directory) Occupy() error {
	if _, err := d.FS.Stat(d.Path); err != nil {
		return fmt.Errorf("look for a store: %w", err)
	}
	if err := checkNames(d.FS, d.Path); err != nil {
		return err
	}
	release, err := lock(d.FS, d.Path, d.Owner)
	if err != nil {
		return err
	}
	if err = checkMarker(d.FS, d.Path); err == nil {
		if d.Desc, err = pebble.Peek(d.Path, d.FS); err != nil {
			err = fmt.Errorf("look at the store in %s: %w", d.Path, err)
		}
	}
	if err != nil {
		release()
		return err
	}
	d.release = release
	return nil
}

// Release gives back a directory that was occupied and not opened.
func (d *Directory) Release() { d.release() }

// Files returns the names of the files that make the store, and not of those of its process.
func (d *Directory) Files() ([]string, error) {
	names, err := d.FS.List(d.Path)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", d.Path, err)
	}
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool {
		is, err := d.FS.Stat(d.FS.PathJoin(d.Path, name))
		return err == nil && is.IsDir() || name == lockFile || name == ownerFile || name == "LOCK"
	}), nil
}

// Open opens Pebble in a directory that was occupied. Where the context ends, or the disk is full
// after all, Pebble may still be busy and keeps the directory until it is done; the process should
// end then.
func (d *Directory) Open(ctx context.Context) error {
	l, err := d.check()
	if err == nil {
		d.watched, err = l.Watch(pacedFS{d.FS, d.Damages, d.Pacing})
	}
	if err != nil {
		d.release()
		return err
	}
	p := d.Options()
	d.cache = pebble.NewCache(p.CacheSize)
	p.Cache = d.cache
	p.Experimental.CompactionScheduler = newPausedCompactions(d.Damages)
	d.watched.Failed = d.logFailed
	p.FS = d.watched
	db, err := d.openWithin(ctx, p)
	if err != nil {
		return err
	}
	d.DB = db
	d.opened.Store(true)
	d.Pacing.DB.Store(db)
	d.keepPrivate()
	return nil
}

// logFailed ends the process of an open store.
func (d *Directory) logFailed(err error) {
	if d.opened.Load() {
		d.Fatal(andon.Errorf(andon.Unavailable, "the store's disk failed: %w", err))
	}
}

// check refuses what Pebble would spoil, or could not open.
func (d *Directory) check() (*walcheck.Logs, error) {
	if err := checkEngine(d.Desc); err != nil {
		return nil, err
	}
	if err := d.checkOptions(); err != nil {
		return nil, err
	}
	l, err := walcheck.Find(d.FS, d.Path, d.Desc)
	if err != nil {
		return nil, err
	}
	if err := l.Check(); err != nil {
		return nil, err
	}
	return l, fits(d.FS, d.Path, l.Replayed)
}

// openWithin opens Pebble, or leaves it to itself where the context ends, or the disk is full: what
// can't be written Pebble tries again and again, and does not return.
func (d *Directory) openWithin(ctx context.Context, p *pebble.Options) (*pebble.DB, error) {
	type result struct {
		db  *pebble.DB
		err error
	}
	ended := make(chan result, 1)
	go func() {
		db, err := pebble.Open(d.Path, p)
		ended <- result{db, err}
	}()
	var err error
	select {
	case r := <-ended:
		if r.err == nil {
			return r.db, nil
		}
		_ = d.leave(nil)
		if err = d.OpenError(r.err); pebble.IsCorruptionError(err) {
			err = andon.Errorf(andon.Damaged, "the store is damaged where it can't do without: "+
				"%w. Restore it from a backup", err)
		}
		return nil, err
	case <-ctx.Done():
		err = ctx.Err()
	case full := <-d.Damages.full:
		err = andon.Errorf(andon.Full, "its disk became full while its log was read into tables "+
			"(%w): make room on it and start again. Nothing was lost", full)
	}
	go func() { _ = d.leave((<-ended).db) }()
	return nil, err
}

// leave closes what is open, and gives the directory back.
func (d *Directory) leave(db *pebble.DB) (err error) {
	if db != nil {
		err = db.Close()
	}
	err = errors.Join(err, d.watched.Close())
	d.cache.Unref()
	d.release()
	return err
}

// Close closes Pebble, and gives the directory back.
func (d *Directory) Close() error { return d.leave(d.DB) }

// LimitCache keeps no more than some bytes of blocks in memory, until lift is called.
func (d *Directory) LimitCache(most int64) (lift func()) {
	return d.cache.Reserve(int(d.cache.MaxSize() - most))
}

// fits refuses to open where the tables that Pebble makes of the logs may not fit on the disk. They
// are smaller than the logs, mostly by half.
func fits(fs vfs.FS, dir string, logs int64) error {
	const others = 8 << 20 // manifest, options, the first writes to a new log
	need := logs + others
	usage, err := fs.GetDiskUsage(dir)
	if err != nil || usage.AvailBytes >= uint64(need) {
		return nil // a file system that can't say has no limit that we know of
	}
	return andon.Errorf(andon.Full,
		"its disk has %d MiB left, and starting needs up to %d MiB, to read its log into tables: "+
			"make room on it and start again. Nothing was lost, and nothing was changed",
		usage.AvailBytes>>20, (need+1<<20-1)>>20)
}
