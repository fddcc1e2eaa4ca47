package directory

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// fatalLogs is a file system that ends the process as soon as the write-ahead log of an open store
// fails. Pebble itself panics where it can't close a log or begin the next one (DB.rotateWAL), and
// turns that panic into a fatal error of Go's, which ends the process with the status of any crash.
type fatalLogs struct {
	vfs.FS
	home  string // the directory of the store: logs elsewhere are those of a snapshot
	store *Directory
}

// Unwrap implements vfs.Root.
func (w fatalLogs) Unwrap() vfs.FS { return w.FS }

func (w fatalLogs) isLog(name string) bool {
	return strings.HasSuffix(name, ".log") && w.FS.PathDir(name) == w.home
}

// check ends the process where something that was done to a log failed.
func (w fatalLogs) check(err error, done, name string) {
	if err == nil || !w.isLog(name) || !w.store.opened.Load() {
		return
	}
	w.store.Fatal(andon.Errorf(andon.Unavailable, "the store's disk failed: %w",
		fmt.Errorf("%s the log %s: %w", done, name, err)))
}

// Create implements vfs.FS.
func (w fatalLogs) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := w.FS.Create(name, c)
	return w.file(f, err, name)
}

// ReuseForWrite implements vfs.FS.
func (w fatalLogs) ReuseForWrite(
	old, name string, c vfs.DiskWriteCategory,
) (vfs.File, error) {
	f, err := w.FS.ReuseForWrite(old, name, c)
	return w.file(f, err, name)
}

func (w fatalLogs) file(f vfs.File, err error, name string) (vfs.File, error) {
	w.check(err, "begin", name)
	if err != nil || !w.isLog(name) {
		return f, err
	}
	return fatalLog{f, w, name}, nil
}

// fatalLog is a log that is being written.
type fatalLog struct {
	vfs.File
	fs   fatalLogs
	name string
}

// Write implements vfs.File.
func (f fatalLog) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.fs.check(err, "write", f.name)
	return n, err
}

// Sync implements vfs.File.
func (f fatalLog) Sync() error {
	err := f.File.Sync()
	f.fs.check(err, "sync", f.name)
	return err
}

// SyncData implements vfs.File.
func (f fatalLog) SyncData() error {
	err := f.File.SyncData()
	f.fs.check(err, "sync", f.name)
	return err
}

// Close implements vfs.File.
func (f fatalLog) Close() error {
	err := f.File.Close()
	f.fs.check(err, "close", f.name)
	return err
}
