package walcheck

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// syncedFile says of each log how many of its bytes are certainly on the disk. It has two slots,
// written alternately, so one of them is always complete:
//
//	crc 4, of the rest | generation 8 | number of logs 4 | each: number 8, bytes 8
//
// The number of bytes is written after each sync of a log, and is not synced itself: after a power
// cut it may be too low, never too high. That a log is made or removed is synced before it happens,
// so a log that the file names, with bytes, must exist.
const (
	syncedFile = "andon.synced"
	slotBytes  = 1024
	slotHeader = 4 + 8 + 4
	slotLogs   = (slotBytes - slotHeader) / 16 // more than Pebble ever keeps at a time
)

// syncedLogs keeps syncedFile.
type syncedLogs struct {
	mu         sync.Mutex
	file       vfs.File
	generation uint64
	logs       map[uint64]int64
}

// readSynced returns what syncedFile says, nothing where it does not exist or is damaged.
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
		one := b[slotHeader+16*i:]
		logs[binary.BigEndian.Uint64(one)] = int64(binary.BigEndian.Uint64(one[8:]))
	}
	return logs, binary.BigEndian.Uint64(b[4:]), true
}

func encodeSlot(logs map[uint64]int64, generation uint64) []byte {
	b := make([]byte, slotHeader, slotBytes)
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

// openSynced begins to keep the file, with the logs that exist.
func openSynced(fs vfs.FS, dir string, logs map[uint64]int64) (*syncedLogs, error) {
	_, generation := readSynced(fs, dir)
	f, err := fs.OpenReadWrite(fs.PathJoin(dir, syncedFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	s := &syncedLogs{file: f, generation: generation, logs: logs}
	if err := errors.Join(s.put(false), s.put(true)); err != nil { // both slots take their space
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// put writes the next slot. The caller holds mu, or has the only reference.
func (s *syncedLogs) put(sync bool) error {
	s.generation++
	slot := int64(s.generation % 2)
	_, err := s.file.WriteAt(encodeSlot(s.logs, s.generation), slot*slotBytes)
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
