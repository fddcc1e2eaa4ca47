package pebblestore

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// logs are the write-ahead logs of a store that is not open.
type logs struct {
	fs     vfs.FS
	dir    string
	paths  map[uint64]string // those that are there, by their number
	synced map[uint64]int64  // what syncedFile says
	first  uint64            // those before it are in tables already

	replayed int64 // bytes that opening reads into tables, once damage has looked
}

// logDamage is a log that can't be replayed as far as it was on the disk.
type logDamage struct {
	number uint64
	file   string
	scan   logScan
	synced int64 // bytes that were on the disk for certain; 0: not known
	gone   bool
}

// String says what is damaged, and how that is known.
func (d logDamage) String() string {
	switch {
	case d.gone:
		return fmt.Sprintf("%s is missing, which held %d bytes that were on the disk", d.file,
			d.synced)
	case d.synced > d.scan.end:
		return fmt.Sprintf("%s is damaged at byte %d: it was on the disk up to byte %d, and has "+
			"%d bytes now", d.file, d.scan.end, d.synced, d.scan.size)
	case d.scan.provesDamage():
		return fmt.Sprintf("%s is damaged at byte %d: behind that place stand %d bytes which were "+
			"written after it was on the disk", d.file, d.scan.end, d.scan.behind)
	}
	return fmt.Sprintf("%s is damaged at byte %d: it was closed when the next log was begun, "+
		"and its end is missing", d.file, d.scan.end)
}

// findLogs looks for the logs of a store.
func findLogs(fs vfs.FS, dir string, desc *pebble.DBDesc) (*logs, error) {
	l := &logs{fs: fs, dir: dir, paths: map[uint64]string{}}
	l.synced, _ = readSynced(fs, dir)
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	for _, name := range names {
		if number := logNumber(fs, name); number != 0 {
			l.paths[number] = fs.PathJoin(dir, name)
		}
	}
	if desc.Exists {
		l.first, err = firstUnflushed(fs, desc.ManifestFilename)
	}
	return l, err
}

// firstUnflushed returns the number of the first log that is not in tables, by the manifest. Its
// records are edits; of each, fields of a number come first, and this is one of them. The end may
// be torn, and what was read counts.
func firstUnflushed(fs vfs.FS, manifest string) (first uint64, err error) {
	f, err := fs.Open(manifest)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", manifest, err)
	}
	defer f.Close()
	r := record.NewReader(f, 0)
	for {
		one, err := r.Next()
		if err != nil {
			return first, nil
		}
		edit, err := io.ReadAll(one)
		if err != nil {
			return first, nil
		}
		first = max(first, editedLog(edit))
	}
}

// editedLog returns the log's number of an edit, 0 where it has none.
func editedLog(edit []byte) uint64 {
	const comparer, logNumber, nextFile, lastSequence, formerLog = 1, 2, 3, 4, 9
	uvarint := func() uint64 {
		v, n := binary.Uvarint(edit)
		edit = edit[max(n, 0):]
		return v
	}
	for len(edit) > 0 {
		switch uvarint() {
		case comparer:
			edit = edit[min(uvarint(), uint64(len(edit))):]
		case logNumber:
			return uvarint()
		case nextFile, lastSequence, formerLog:
			uvarint()
		default:
			return 0
		}
	}
	return 0
}

// damage returns the logs that can't be replayed as far as they were on the disk, oldest first. The
// tail of the newest may be torn: a crash leaves that.
func (l *logs) damage() (found []logDamage, err error) {
	numbers := slices.Sorted(maps.Keys(l.paths))
	for i, number := range numbers {
		if number < l.first {
			continue
		}
		d := logDamage{
			number: number, file: l.fs.PathBase(l.paths[number]), synced: l.synced[number],
		}
		if d.scan, err = l.scan(number); err != nil {
			return nil, err
		}
		l.replayed += d.scan.end
		closed := i < len(numbers)-1
		if d.synced > d.scan.end || d.scan.provesDamage() || closed && !d.scan.clean {
			found = append(found, d)
		}
	}
	found = append(found, l.missing()...)
	slices.SortFunc(found, func(a, b logDamage) int { return int(a.number) - int(b.number) })
	return found, nil
}

func (l *logs) scan(number uint64) (logScan, error) {
	f, err := l.fs.Open(l.paths[number])
	if err != nil {
		return logScan{}, fmt.Errorf("open %s: %w", l.paths[number], err)
	}
	defer f.Close()
	s, err := scanLog(f, number)
	if err != nil {
		return s, fmt.Errorf("read %s: %w", l.paths[number], err)
	}
	return s, nil
}

// missing returns the logs that syncedFile names and that are not there. Where there is a newer log
// than it names, a program that does not keep it had the store open since, and it proves nothing.
func (l *logs) missing() (found []logDamage) {
	if newest(l.paths) > newest(l.synced) {
		return nil
	}
	for number, bytes := range l.synced {
		if l.paths[number] == "" && number >= l.first && bytes > 0 {
			found = append(found, logDamage{
				number: number, file: fmt.Sprintf("%06d.log", number), synced: bytes, gone: true,
			})
		}
	}
	return found
}

func newest[V any](logs map[uint64]V) (number uint64) {
	for n := range logs {
		number = max(number, n)
	}
	return number
}

// check refuses to open a store whose logs are damaged: Pebble would replay what stands before the
// damage, and delete the rest.
func (l *logs) check() error {
	found, err := l.damage()
	if err != nil || len(found) == 0 {
		return err
	}
	return andon.Errorf(andon.Damaged,
		"%s. What was acknowledged behind that place can't be replayed. Restore the store from a "+
			"backup, or give that up: andon store repair says what it costs. Nothing was changed",
		describe(found))
}

func describe(found []logDamage) string {
	texts := make([]string, len(found))
	for i, d := range found {
		texts[i] = d.String()
	}
	return strings.Join(texts, "; ")
}

// kept returns what syncedFile goes on with: the logs that are there.
func (l *logs) kept() map[uint64]int64 {
	kept := map[uint64]int64{}
	for number := range l.paths {
		kept[number] = l.synced[number]
	}
	return kept
}
