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

// syncedFile says of each log, and of the newest manifest, how many of its bytes are certainly on
// the disk. It is one sector, so that the disk writes all of it or nothing:
//
//	crc 4, of the rest | number of logs 4 | manifest: number 8, bytes 8 | each log: the same
//
// The number of bytes is written after each sync of a file, and is not synced itself: after a power
// cut it may be too low, never too high. That a log is made or removed is synced before it happens,
// so a log that the file names, with bytes, must exist.
const (
	syncedFile   = "andon.synced"
	syncedBytes  = 512
	syncedHeader = 4 + 4 + 16
	syncedMost   = (syncedBytes - syncedHeader) / 16 // more logs than Pebble ever keeps at a time
)

// synced is what the file says: how many bytes are on the disk.
type synced struct {
	manifest syncedManifest   // zero: not known
	logs     map[uint64]int64 // by their number
}

type syncedManifest struct {
	number uint64
	bytes  int64
}

// syncedWriter keeps the file.
type syncedWriter struct {
	mu   sync.Mutex
	file vfs.File
	synced
}

// readSynced returns what syncedFile says, nothing where it does not exist or is damaged.
func readSynced(fs vfs.FS, dir string) (s synced) {
	b, err := engine.ReadFile(fs, fs.PathJoin(dir, syncedFile))
	if err != nil || len(b) < syncedBytes {
		return s
	}
	if b = b[:syncedBytes]; crc32.ChecksumIEEE(b[4:]) != binary.BigEndian.Uint32(b) {
		return s
	}
	pair := func(b []byte) (number uint64, bytes int64) {
		return binary.BigEndian.Uint64(b), int64(binary.BigEndian.Uint64(b[8:]))
	}
	s.manifest.number, s.manifest.bytes = pair(b[8:])
	s.logs = map[uint64]int64{}
	for i := range min(binary.BigEndian.Uint32(b[4:]), syncedMost) {
		number, bytes := pair(b[syncedHeader+16*i:])
		s.logs[number] = bytes
	}
	return s
}

// openSynced begins to keep the file, with the logs that exist.
func openSynced(fs vfs.FS, dir string, logs map[uint64]int64) (*syncedWriter, error) {
	f, err := fs.OpenReadWrite(fs.PathJoin(dir, syncedFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	s := &syncedWriter{file: f, synced: synced{logs: logs}}
	if err := s.put(true); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// put writes the file. The caller holds mu, or has the only reference.
func (s *syncedWriter) put(sync bool) error {
	numbers := slices.Sorted(maps.Keys(s.logs))
	numbers = numbers[max(0, len(numbers)-syncedMost):] // the newest
	b := make([]byte, 4, syncedBytes)
	b = binary.BigEndian.AppendUint32(b, uint32(len(numbers)))
	pair := func(number uint64, bytes int64) {
		b = binary.BigEndian.AppendUint64(b, number)
		b = binary.BigEndian.AppendUint64(b, uint64(bytes))
	}
	pair(s.manifest.number, s.manifest.bytes)
	for _, number := range numbers {
		pair(number, s.logs[number])
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
func (s *syncedWriter) reached(log uint64, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes > s.logs[log] {
		s.logs[log] = bytes
		_ = s.put(false)
	}
}

// manifestReached notes that a manifest is on the disk up to a byte. It drops an error: what the
// file then says is of less bytes, or of a former manifest.
func (s *syncedWriter) manifestReached(number uint64, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number >= s.manifest.number {
		s.manifest = syncedManifest{number, bytes}
		_ = s.put(false)
	}
}

// change notes, and syncs, that a log will be made, or removed. 0 is no log.
func (s *syncedWriter) change(made, removed uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.logs, removed)
	if made != 0 {
		s.logs[made] = 0
	}
	return s.put(true)
}
