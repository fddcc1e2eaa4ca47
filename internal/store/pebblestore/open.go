package pebblestore

import (
	"context"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/walcheck"
)

// openEngine opens Pebble, where the directory is as it was left. One that a newer Pebble wrote is
// left as it is. With an error it releases the directory, as soon as nothing uses it.
func openEngine(
	ctx context.Context, dir string, o *Options, release func(),
) (*pebble.DB, *walcheck.FS, error) {
	l, err := lookBeforeOpening(dir, o)
	var watched *walcheck.FS
	if err == nil {
		watched, err = l.Watch(pacedFS{o.FS, o.damages, o.pacing})
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	p := pebbleOptions(o)
	o.blocks = pebble.NewCache(p.CacheSize)
	p.Cache = o.blocks
	p.Experimental.CompactionScheduler = newRestedCompactions(o.damages)
	home := o.FS.PathDir(o.FS.PathJoin(dir, ownerFile))
	// A pointer, because Pebble compares it where it takes tables in.
	p.FS = &fatalLogs{watched, home, o}
	end := func(db *pebble.DB) {
		if db != nil {
			_ = db.Close() // it was not waited for
		}
		_ = watched.Close()
		o.blocks.Unref()
		release()
	}
	db, err := openWithin(ctx, dir, p, o, end)
	return db, watched, err
}

// lookBeforeOpening refuses what Pebble would spoil, or could not open.
func lookBeforeOpening(dir string, o *Options) (*walcheck.Logs, error) {
	if err := checkMarker(o.FS, dir); err != nil {
		return nil, err
	}
	desc, err := pebble.Peek(dir, o.FS)
	if err != nil {
		return nil, err
	}
	if err := checkEngine(desc); err != nil {
		return nil, err
	}
	if err := checkOptions(desc, dir, o); err != nil {
		return nil, err
	}
	if err := walcheck.CheckManifest(o.FS, desc); err != nil {
		return nil, err
	}
	l, err := walcheck.Find(o.FS, dir, desc)
	if err != nil {
		return nil, err
	}
	if err := l.Check(); err != nil {
		return nil, err
	}
	return l, fits(o.FS, dir, l.Replayed())
}

// openWithin opens Pebble, or leaves it to itself where the context ends, or the disk is full: what
// can't be written Pebble tries again and again, and does not return. end is called behind it
// then.
func openWithin(
	ctx context.Context, dir string, p *pebble.Options, o *Options, end func(*pebble.DB),
) (*pebble.DB, error) {
	type opened struct {
		db  *pebble.DB
		err error
	}
	result := make(chan opened, 1)
	go func() {
		db, err := pebble.Open(dir, p)
		result <- opened{db, err}
	}()
	var err error
	select {
	case r := <-result:
		if r.err != nil {
			end(nil)
		}
		return r.db, openError(dir, r.err)
	case <-ctx.Done():
		err = ctx.Err()
	case full := <-o.damages.full:
		err = andon.Errorf(andon.Full, "its disk became full while its log was read into tables "+
			"(%w): make room on it and start again. Nothing was lost", full)
	}
	go func() { end((<-result).db) }()
	return nil, err
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
