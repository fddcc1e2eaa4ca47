package walcheck

import (
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
	synced *syncedLogs
	home   string // the directory of the store: logs elsewhere belong to a copy
}

// Watch begins to keep andon.synced for the logs of a store that is about to be opened. fs is the
// file system to wrap, which may differ from that of Find.
func (l *Logs) Watch(fs vfs.FS) (*FS, error) {
	kept := map[uint64]int64{}
	for number := range l.paths {
		kept[number] = l.synced[number]
	}
	synced, err := openSynced(l.fs, l.dir, kept)
	if err != nil {
		return nil, err
	}
	return &FS{FS: fs, synced: synced, home: fs.PathDir(fs.PathJoin(l.dir, syncedFile))}, nil
}

// Close closes andon.synced, once Pebble is closed.
func (w *FS) Close() error { return w.synced.file.Close() }

// Unwrap implements vfs.FS.
func (w *FS) Unwrap() vfs.FS { return w.FS }

// log returns the number of a log of the store by its path, 0 for all other files.
func (w *FS) log(path string) uint64 {
	if w.FS.PathDir(path) != w.home {
		return 0
	}
	return logNumber(w.FS, path)
}

// Create implements vfs.FS.
func (w *FS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return w.begin(name, 0, func() (vfs.File, error) { return w.FS.Create(name, c) })
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
	return &watchedLog{File: f, fs: w, name: name, number: number}, nil
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

type watchedLog struct {
	vfs.File
	fs      *FS
	name    string
	number  uint64
	written atomic.Int64
}

// Write implements vfs.File.
func (l *watchedLog) Write(p []byte) (int, error) {
	n, err := l.File.Write(p)
	l.written.Add(int64(n))
	l.fs.check(err, "write", l.name)
	return n, err
}

// Sync implements vfs.File.
func (l *watchedLog) Sync() error { return l.note(l.File.Sync) }

// SyncData implements vfs.File.
func (l *watchedLog) SyncData() error { return l.note(l.File.SyncData) }

func (l *watchedLog) note(sync func() error) error {
	written := l.written.Load()
	err := sync()
	if l.fs.check(err, "sync", l.name); err == nil {
		l.fs.synced.reached(l.number, written)
	}
	return err
}

// Close implements vfs.File.
func (l *watchedLog) Close() error {
	err := l.File.Close()
	l.fs.check(err, "close", l.name)
	return err
}
