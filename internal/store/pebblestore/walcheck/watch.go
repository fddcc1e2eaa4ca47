package walcheck

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is the file system for Pebble. It keeps andon.synced.
type FS struct {
	vfs.FS
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
	number := w.log(name)
	if number == 0 {
		return w.FS.Create(name, c)
	}
	if err := w.synced.change(number, 0); err != nil {
		return nil, err
	}
	return w.watch(number)(w.FS.Create(name, c))
}

// ReuseForWrite implements vfs.FS.
func (w *FS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	number := w.log(name)
	if number == 0 {
		return w.FS.ReuseForWrite(old, name, c)
	}
	if err := w.synced.change(number, w.log(old)); err != nil {
		return nil, err
	}
	return w.watch(number)(w.FS.ReuseForWrite(old, name, c))
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

func (w *FS) watch(number uint64) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		return &watchedLog{File: f, synced: w.synced, number: number}, nil
	}
}

// watchedLog is a log that is written from its start.
type watchedLog struct {
	vfs.File
	synced  *syncedLogs
	number  uint64
	written atomic.Int64
}

// Write implements vfs.File.
func (l *watchedLog) Write(p []byte) (int, error) {
	n, err := l.File.Write(p)
	l.written.Add(int64(n))
	return n, err
}

// Sync implements vfs.File.
func (l *watchedLog) Sync() error { return l.note(l.File.Sync) }

// SyncData implements vfs.File.
func (l *watchedLog) SyncData() error { return l.note(l.File.SyncData) }

func (l *watchedLog) note(sync func() error) error {
	written := l.written.Load()
	err := sync()
	if err == nil {
		l.synced.reached(l.number, written)
	}
	return err
}
