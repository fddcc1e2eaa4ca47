package walcheck

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// syncedFile says of each log how many of its bytes are certainly on the disk. It is one sector, so
// that the disk writes all of it or nothing:
//
//	crc 4, of the rest | number of logs 4 | each: number 8, bytes 8
//
// The number of bytes is written after each sync of a log, and is not synced itself: after a power
// cut it may be too low, never too high. That a log is made or removed is synced before it happens,
// so a log that the file names, with bytes, must exist.
const (
	syncedFile   = "andon.synced"
	syncedBytes  = 512
	syncedHeader = 4 + 4
	syncedMost   = (syncedBytes - syncedHeader) / 16 // more logs than Pebble ever keeps at a time
)

type syncedLogs struct {
	mu   sync.Mutex
	file vfs.File
	logs map[uint64]int64
}

// readSynced returns what syncedFile says, nothing where it does not exist or is damaged.
func readSynced(fs vfs.FS, dir string) map[uint64]int64 {
	b, err := engine.ReadFile(fs, fs.PathJoin(dir, syncedFile))
	if err != nil || len(b) < syncedBytes {
		return nil
	}
	if b = b[:syncedBytes]; crc32.ChecksumIEEE(b[4:]) != binary.BigEndian.Uint32(b) {
		return nil
	}
	logs := map[uint64]int64{}
	for i := range min(binary.BigEndian.Uint32(b[4:]), syncedMost) {
		one := b[syncedHeader+16*i:]
		logs[binary.BigEndian.Uint64(one)] = int64(binary.BigEndian.Uint64(one[8:]))
	}
	return logs
}

// openSynced begins to keep the file, with the logs that exist.
func openSynced(fs vfs.FS, dir string, logs map[uint64]int64) (*syncedLogs, error) {
	f, err := fs.OpenReadWrite(fs.PathJoin(dir, syncedFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	s := &syncedLogs{file: f, logs: logs}
	if err := s.put(true); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// put writes the file. The caller holds mu, or has the only reference.
func (s *syncedLogs) put(sync bool) error {
	numbers := slices.Sorted(maps.Keys(s.logs))
	numbers = numbers[max(0, len(numbers)-syncedMost):] // the newest
	b := make([]byte, syncedHeader, syncedBytes)
	binary.BigEndian.PutUint32(b[4:], uint32(len(numbers)))
	for _, number := range numbers {
		b = binary.BigEndian.AppendUint64(b, number)
		b = binary.BigEndian.AppendUint64(b, uint64(s.logs[number]))
	}
	b = b[:syncedBytes]
	binary.BigEndian.PutUint32(b, crc32.ChecksumIEEE(b[4:]))
	_, err := s.file.WriteAt(b, 0)
	if err == nil && sync {
		err = s.file.SyncData()
	}
	return err
}

// reached notes that a log is on the disk up to a byte. It drops an error: the file then has the
// lower number.
func (s *syncedLogs) reached(log uint64, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes > s.logs[log] {
		s.logs[log] = bytes
		_ = s.put(false)
	}
}

// change notes, and syncs, that a log will be made, or removed. 0 is no log.
func (s *syncedLogs) change(made, removed uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.logs, removed)
	if made != 0 {
		s.logs[made] = 0
	}
	return s.put(true)
}
