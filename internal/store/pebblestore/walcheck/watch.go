package walcheck

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is the file system for Pebble. It keeps andon.synced.
type FS struct {
	vfs.FS
	// Failed is called as soon as something that is done to a log fails; nil: it is not called.
	// Pebble itself panics where it can't close a log or begin the next one (DB.rotateWAL), and
	// turns that panic into a fatal error of Go's, which ends the process like any crash.
	Failed func(error)
	synced *syncedWriter
	home   string // the directory of the store: logs elsewhere belong to a copy
}

// Watch begins to keep andon.synced for a store that is about to be opened, which begins a
// manifest. fs is the file system to wrap, which may differ from that of Find.
func (l *Logs) Watch(fs vfs.FS) (*FS, error) {
	kept := map[uint64]int64{}
	for number := range l.paths {
		kept[number] = l.synced.logs[number]
	}
	synced, err := openSynced(l.fs, l.dir, kept)
	if err != nil {
		return nil, err
	}
	return &FS{FS: fs, synced: synced, home: fs.PathDir(fs.PathJoin(l.dir, syncedFile))}, nil
}

// Close syncs and closes andon.synced, once Pebble is closed.
func (w *FS) Close() error {
	return errors.Join(w.synced.file.SyncData(), w.synced.file.Close())
}

// Unwrap implements vfs.FS.
func (w *FS) Unwrap() vfs.FS { return w.FS }

// log returns the number of a log of the store by its path, 0 for all other files.
func (w *FS) log(path string) uint64 { return w.number(path, logNumber) }

// number returns what of says of the path of a file of the store, 0 for files elsewhere.
func (w *FS) number(path string, of func(fs vfs.FS, path string) uint64) uint64 {
	if w.FS.PathDir(path) != w.home {
		return 0
	}
	return of(w.FS, path)
}

// Create implements vfs.FS.
func (w *FS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := w.begin(name, 0, func() (vfs.File, error) { return w.FS.Create(name, c) })
	if number := w.number(name, manifestNumber); number != 0 && err == nil {
		f = &watchedFile{
			File: f, failed: func(error, string) {}, // Pebble ends the process
			reached: func(bytes int64) { w.synced.manifestReached(number, bytes) },
		}
	}
	return f, err
}

// ReuseForWrite implements vfs.FS.
func (w *FS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return w.begin(name, w.log(old), func() (vfs.File, error) {
		return w.FS.ReuseForWrite(old, name, c)
	})
}

// begin begins a file, which takes the place of a log that is not needed any more; 0: of none.
func (w *FS) begin(
	name string, old uint64, begin func() (vfs.File, error),
) (f vfs.File, err error) {
	number := w.log(name)
	if number == 0 {
		return begin()
	}
	if err = w.synced.change(number, old); err == nil {
		f, err = begin()
	}
	if w.check(err, "begin", name); err != nil {
		return nil, err
	}
	return &watchedFile{
		File: f, failed: func(err error, doing string) { w.check(err, doing, name) },
		reached: func(bytes int64) { w.synced.reached(number, bytes) },
	}, nil
}

// check calls Failed where something that was done to a log failed.
func (w *FS) check(err error, doing, name string) {
	if err != nil && w.Failed != nil {
		w.Failed(fmt.Errorf("%s the log %s: %w", doing, name, err))
	}
}

// Remove implements vfs.FS.
func (w *FS) Remove(name string) error {
	if number := w.log(name); number != 0 {
		if err := w.synced.change(0, number); err != nil {
			return err
		}
	}
	return w.FS.Remove(name)
}

// watchedFile is a log or a manifest.
type watchedFile struct {
	vfs.File
	written atomic.Int64
	reached func(bytes int64)             // called once so many are on the disk
	failed  func(err error, doing string) // called with each error, and with nil
}

// Write implements vfs.File.
func (f *watchedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.written.Add(int64(n))
	f.failed(err, "write")
	return n, err
}

// Sync implements vfs.File.
func (f *watchedFile) Sync() error { return f.note(f.File.Sync) }

// SyncData implements vfs.File.
func (f *watchedFile) SyncData() error { return f.note(f.File.SyncData) }

func (f *watchedFile) note(sync func() error) error {
	written := f.written.Load()
	err := sync()
	if f.failed(err, "sync"); err == nil {
		f.reached(written)
	}
	return err
}

// Close implements vfs.File.
func (f *watchedFile) Close() error {
	err := f.File.Close()
	f.failed(err, "close")
	return err
}
