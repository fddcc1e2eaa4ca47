package pebblestore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// syncedFile says of each write-ahead log how many of its bytes are on the disk for certain. A log
// by itself can't tell damage in its middle from the end that a crash left; beside this it can.
//
// It has two slots, written in turn, so that one of them is always whole:
//
//	crc 4, of the rest | generation 8 | number of logs 4 | each: number 8, bytes 8
//
// What it says of bytes is written behind each sync of a log and not synced itself: after a power
// cut it may say less than is so, never more. That a log was made or removed is synced before it
// happens, so a log that it names, with bytes, must be there.
const (
	syncedFile = "andon.synced"
	slotBytes  = 1024
	slotHead   = 4 + 8 + 4
	slotLogs   = (slotBytes - slotHead) / 16 // more than are ever kept at a time
)

// synced keeps syncedFile.
type synced struct {
	mu         sync.Mutex
	file       vfs.File
	generation uint64
	logs       map[uint64]int64
}

// readSynced returns what syncedFile says; none where it is not there, or damaged.
func readSynced(fs vfs.FS, dir string) (logs map[uint64]int64, generation uint64) {
	f, err := fs.Open(fs.PathJoin(dir, syncedFile))
	if err != nil {
		return nil, 0
	}
	defer f.Close()
	for slot := range int64(2) {
		b := make([]byte, slotBytes)
		if _, err := f.ReadAt(b, slot*slotBytes); err != nil && !errors.Is(err, io.EOF) {
			continue
		}
		if l, g, ok := decodeSlot(b); ok && g > generation {
			logs, generation = l, g
		}
	}
	return logs, generation
}

func decodeSlot(b []byte) (logs map[uint64]int64, generation uint64, ok bool) {
	n := int(binary.BigEndian.Uint32(b[12:]))
	if n > slotLogs || crc32.ChecksumIEEE(b[4:]) != binary.BigEndian.Uint32(b) {
		return nil, 0, false
	}
	logs = make(map[uint64]int64, n)
	for i := range n {
		at := b[slotHead+16*i:]
		logs[binary.BigEndian.Uint64(at)] = int64(binary.BigEndian.Uint64(at[8:]))
	}
	return logs, binary.BigEndian.Uint64(b[4:]), true
}

func encodeSlot(logs map[uint64]int64, generation uint64) []byte {
	b := make([]byte, slotHead, slotBytes)
	numbers := slices.Sorted(maps.Keys(logs))
	numbers = numbers[max(0, len(numbers)-slotLogs):] // the newest
	for _, number := range numbers {
		b = binary.BigEndian.AppendUint64(b, number)
		b = binary.BigEndian.AppendUint64(b, uint64(logs[number]))
	}
	b = b[:slotBytes]
	binary.BigEndian.PutUint64(b[4:], generation)
	binary.BigEndian.PutUint32(b[12:], uint32(len(numbers)))
	binary.BigEndian.PutUint32(b, crc32.ChecksumIEEE(b[4:]))
	return b
}

// openSynced begins to keep the file, with the logs that are there.
func openSynced(fs vfs.FS, dir string, logs map[uint64]int64) (*synced, error) {
	_, generation := readSynced(fs, dir)
	f, err := fs.OpenReadWrite(fs.PathJoin(dir, syncedFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	s := &synced{
		file: f, generation: generation, logs: logs,
	}
	if err := errors.Join(s.put(false), s.put(true)); err != nil { // room for both slots
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// put writes the next slot. The caller holds mu, or is alone.
func (s *synced) put(sync bool) error {
	s.generation++
	slot := int64(s.generation % 2)
	_, err := s.file.WriteAt(encodeSlot(s.logs, s.generation), slot*slotBytes)
	if err == nil && sync {
		err = s.file.SyncData()
	}
	return err
}

// reached says that a log is on the disk up to a byte. It drops an error: the file says less then.
func (s *synced) reached(log uint64, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes > s.logs[log] {
		s.logs[log] = bytes
		_ = s.put(false)
	}
}

// change says, for certain, that a log is made, or removed, before it happens. 0 is no log.
func (s *synced) change(made, removed uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.logs, removed)
	if made != 0 {
		s.logs[made] = 0
	}
	return s.put(true)
}

func (s *synced) close() error { return s.file.Close() }

// watchedFS is the file system for Pebble: it keeps syncedFile.
type watchedFS struct {
	vfs.FS
	synced *synced
	home   string // the directory of the store: logs elsewhere are those of a snapshot
	pace   func() // called before a file that is no log is made
	pacing *pacing
}

// Unwrap is of vfs.Root.
func (w watchedFS) Unwrap() vfs.FS { return w.FS }

// logNumber returns the number of a log by its path, 0 for all other files.
func logNumber(fs vfs.FS, path string) uint64 {
	n, _, ok := wal.ParseLogFilename(fs.PathBase(path))
	if !ok {
		return 0
	}
	return uint64(n)
}

// log returns the number of a log of the store by its path, 0 for all other files.
func (w watchedFS) log(path string) uint64 {
	if w.FS.PathDir(path) != w.home {
		return 0
	}
	return logNumber(w.FS, path)
}

// Create is of vfs.FS.
func (w watchedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	number := w.log(name)
	if number == 0 {
		w.pace()
		f, err := w.FS.Create(name, c)
		if err == nil && isPaced(c) {
			f = w.pacing.paced(f)
		}
		return f, err
	}
	if err := w.synced.change(number, 0); err != nil {
		return nil, err
	}
	return w.watch(number)(w.FS.Create(name, c))
}

// ReuseForWrite is of vfs.FS.
func (w watchedFS) ReuseForWrite(
	was, name string, c vfs.DiskWriteCategory,
) (vfs.File, error) {
	number := w.log(name)
	if number == 0 {
		return w.FS.ReuseForWrite(was, name, c)
	}
	if err := w.synced.change(number, w.log(was)); err != nil {
		return nil, err
	}
	return w.watch(number)(w.FS.ReuseForWrite(was, name, c))
}

// Remove is of vfs.FS.
func (w watchedFS) Remove(name string) error {
	if number := w.log(name); number != 0 {
		if err := w.synced.change(0, number); err != nil {
			return err
		}
	}
	return w.FS.Remove(name)
}

func (w watchedFS) watch(number uint64) func(vfs.File, error) (vfs.File, error) {
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
	synced  *synced
	number  uint64
	written atomic.Int64
}

// Write is of vfs.File.
func (l *watchedLog) Write(p []byte) (int, error) {
	n, err := l.File.Write(p)
	l.written.Add(int64(n))
	return n, err
}

// Sync is of vfs.File.
func (l *watchedLog) Sync() error { return l.tell(l.File.Sync) }

// SyncData is of vfs.File.
func (l *watchedLog) SyncData() error { return l.tell(l.File.SyncData) }

func (l *watchedLog) tell(sync func() error) error {
	written := l.written.Load()
	err := sync()
	if err == nil {
		l.synced.reached(l.number, written)
	}
	return err
}
