// Package walcheck finds damage in the write-ahead logs and the manifest of a Pebble directory that
// Pebble itself takes for the end of the file.
//
// A log that is replayed after a crash may end anywhere, since its tail was being written. Damage
// in its middle looks the same: Pebble replays what comes before it, deletes the log, and
// everything after the damage is gone without an error. To tell the two apart, Pebble writes into
// each chunk up to which byte the log was synced. In Pebble 2.1.7 that offset is too low by all
// full blocks, so it proves nearly nothing; docs/design/pebble-wal-report.md describes the defect,
// and TestPebbleHidesDamage fails once it is fixed. Most of this package can be removed then.
//
// Until then there are three kinds of evidence, the strongest first:
//
//   - The file andon.synced says how many bytes of each log are certainly on the disk (synced.go).
//     A file system that wraps the one of the store keeps it (watch.go). So a log that ends
//     earlier, or is missing, was damaged.
//   - Where that file is missing, as in a copy, the offsets of Pebble still prove some of it.
//   - A log that is not the newest was closed, and must end as a closed log does.
//
// What can't be proved is taken for a torn tail: a crash must never keep a store from opening. That
// is damage for which Pebble has no proof where andon.synced is missing.
//
// The manifest has the same weakness with a worse result: Pebble deletes the tables that are listed
// after the damage. It is checked by the same evidence (manifest.go).
//
// Contract:
//
//   - Find, Check and Damage read only. They are called before Pebble opens the directory, by a
//     process that has locked it.
//   - Watch comes after Check and before pebble.Open. Close comes after that of Pebble.
//   - What Check refuses stays as it is, byte by byte. Repair changes it, and moves every log that
//     it changes into a directory of its own first.
//   - Damage is an andon.Error of kind Damaged and names the file and the byte. Any other error
//     means that a file could not be read.
//
// The package knows the files of Pebble and their chunks. It does not know what the rows of a store
// mean, nor anything else of the store: its tests write rows of their own.
package walcheck

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"

	"github.com/andonhq/andon"
)

// Logs are the write-ahead logs of a store that is not open, and its manifest.
type Logs struct {
	Manifest *ManifestDamage // nil: it is not damaged
	fs       vfs.FS
	dir      string
	paths    map[uint64]string // of the logs that exist, by their number
	synced   synced            // what andon.synced says
	first    uint64            // the logs before this one are in tables already
	// Replayed is how many bytes of logs Pebble reads into tables, once Damage or Check has read
	// the logs.
	Replayed int64
}

// Find looks for the logs of the store in dir, which Pebble describes by desc.
func Find(fs vfs.FS, dir string, desc *pebble.DBDesc) (*Logs, error) {
	l := &Logs{fs: fs, dir: dir, paths: map[uint64]string{}}
	l.synced = readSynced(fs, dir)
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
		err = l.readManifest(desc.ManifestFilename)
	}
	return l, err
}

func logNumber(fs vfs.FS, path string) uint64 {
	n, _, ok := wal.ParseLogFilename(fs.PathBase(path))
	if !ok {
		return 0
	}
	return uint64(n)
}

// Damage is a log that can't be replayed as far as it was on the disk.
type Damage struct {
	File string // its name

	number  uint64
	scan    scan
	synced  int64 // bytes that were certainly on the disk; 0: not known
	missing bool
}

// String says what is damaged, and how that is known.
func (d Damage) String() string {
	switch {
	case d.missing:
		return fmt.Sprintf("%s is missing, of which %d bytes were on the disk", d.File, d.synced)
	case d.scan.lacks(d.synced):
		return fmt.Sprintf("%s is damaged at byte %d: it was on the disk up to byte %d",
			d.File, d.scan.end, d.synced)
	case d.scan.proven:
		return fmt.Sprintf("%s is damaged at byte %d: after that byte there is what was written "+
			"once it was on the disk", d.File, d.scan.end)
	}
	return fmt.Sprintf("%s is damaged at byte %d: it was closed when the next log was begun, "+
		"and its end is missing", d.File, d.scan.end)
}

// Damage returns the logs that can't be replayed as far as they were on the disk, oldest first. The
// tail of the newest may be torn, since a crash leaves that.
func (l *Logs) Damage() (found []Damage, err error) {
	l.Replayed = 0
	numbers := l.from(l.first)
	for i, number := range numbers {
		d := Damage{
			File: l.fs.PathBase(l.paths[number]), number: number, synced: l.synced.logs[number],
		}
		if d.scan, err = l.scan(number); err != nil {
			return nil, err
		}
		l.Replayed += d.scan.end
		newest := i == len(numbers)-1
		if d.scan.lacks(d.synced) || d.scan.proven || !newest && !d.scan.closed {
			found = append(found, d)
		}
	}
	found = append(found, l.missing()...)
	slices.SortFunc(found, func(a, b Damage) int { return int(a.number) - int(b.number) })
	return found, nil
}

// from returns the numbers of the logs from one on, in ascending order.
func (l *Logs) from(number uint64) []uint64 {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l.paths)), func(n uint64) bool {
		return n < number
	})
}

func (l *Logs) scan(number uint64) (scan, error) {
	f, err := l.fs.Open(l.paths[number])
	if err != nil {
		return scan{}, fmt.Errorf("open %s: %w", l.paths[number], err)
	}
	defer f.Close()
	s, err := scanLog(f, number)
	if err != nil {
		return s, fmt.Errorf("read %s: %w", l.paths[number], err)
	}
	return s, nil
}

// missing returns the logs that andon.synced names and that do not exist. Where a log is newer than
// all that it names, a program that does not keep it had the store open since, so it proves
// nothing.
func (l *Logs) missing() (found []Damage) {
	if newest(l.paths) > newest(l.synced.logs) {
		return nil
	}
	for number, bytes := range l.synced.logs {
		if l.paths[number] == "" && number >= l.first && bytes > 0 {
			found = append(found, Damage{
				File: fmt.Sprintf("%06d.log", number), number: number, synced: bytes, missing: true,
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

// Check refuses a store whose manifest or logs are damaged: Pebble would read what comes before the
// damage, and delete the rest.
func (l *Logs) Check() error {
	if m := l.Manifest; m != nil && m.proven {
		return andon.Errorf(andon.Damaged,
			"%s is damaged at byte %d of %d. Starting would delete the tables that it lists after "+
				"that byte. Restore the store from a backup. Nothing was changed",
			m.File, m.Offset, m.Size)
	}
	found, err := l.Damage()
	if err != nil || len(found) == 0 {
		return err
	}
	texts := make([]string, len(found))
	for i, d := range found {
		texts[i] = d.String()
	}
	return andon.Errorf(andon.Damaged,
		"%s. What was acknowledged after that can't be replayed. Restore the store from a backup, "+
			"or give that up: andon store repair says what it costs. Nothing was changed",
		strings.Join(texts, "; "))
}

// EndCopy ends the newest log of a copy where replaying it ends. The log was written to while it
// was copied, so there may be a gap with valid bytes after it, which look like damage. All that was
// acknowledged before the copy began comes before the gap.
func EndCopy(fs vfs.FS, dir string) error {
	desc, err := pebble.Peek(dir, fs)
	if err != nil {
		return err
	}
	l, err := Find(fs, dir, desc)
	if err != nil {
		return err
	}
	number := newest(l.paths)
	if number < l.first || number == 0 {
		return nil
	}
	s, err := l.scan(number)
	if err != nil || s.closed {
		return err
	}
	path := l.paths[number]
	short := path + ".short"
	if err := vfs.LimitedCopy(fs, path, short, s.end); err != nil {
		return err
	}
	if err := fs.Rename(short, path); err != nil {
		return err
	}
	return syncDirectory(fs, dir)
}

func syncDirectory(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
