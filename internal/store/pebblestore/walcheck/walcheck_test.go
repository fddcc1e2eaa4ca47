package walcheck_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/walcheck"
)

const syncedFile = "andon.synced"

// open opens the database as the store does.
func open(fs vfs.FS, memTable uint64) (db *pebble.DB, closed func() error, err error) {
	if err := fs.MkdirAll("store", 0o700); err != nil {
		return nil, nil, err
	}
	l, err := check(fs)
	if err != nil {
		return nil, nil, err
	}
	watched, err := l.Watch(fs)
	if err != nil {
		return nil, nil, err
	}
	o := &pebble.Options{
		FS: watched, MemTableSize: memTable, FormatMajorVersion: pebble.FormatValueSeparation,
		Logger: quiet{},
	}
	if db, err = pebble.Open("store", o); err != nil {
		return nil, nil, errors.Join(err, watched.Close())
	}
	return db, func() error { return errors.Join(db.Close(), watched.Close()) }, nil
}

// check is what comes before Pebble opens a directory.
func check(fs vfs.FS) (*walcheck.Logs, error) {
	desc, err := pebble.Peek("store", fs)
	if err != nil {
		return nil, err
	}
	l, err := walcheck.Find(fs, "store", desc)
	if err != nil {
		return nil, err
	}
	return l, l.Check()
}

// quiet is a logger of Pebble.
type quiet struct{}

func (quiet) Infof(string, ...any)         {}
func (quiet) Errorf(string, ...any)        {}
func (quiet) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

const memTable = 4 << 20

// killed returns the file system of a process that was killed after its n-th synced write.
func killed(t *testing.T, n int) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	for range 2 { // the first log of a store has an older form
		db, closed, err := open(fs, memTable)
		if err == nil {
			err = errors.Join(db.Set([]byte("first"), nil, pebble.Sync), db.Flush(), closed())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db, closed, err := open(fs, memTable)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := db.Set(numbered(i), make([]byte, 300), pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	all := vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}
	after := fs.CrashClone(all)
	if err := closed(); err != nil {
		t.Fatal(err)
	}
	return after
}

func numbered(i int) []byte { return fmt.Appendf(nil, "key %d", i) }

func again(fs *vfs.MemFS) *vfs.MemFS { return fs.CrashClone(vfs.CrashCloneCfg{}) }

// opens opens the database and returns how many of the first n keys it has.
func opens(t *testing.T, fs vfs.FS, n int) (found int, err error) {
	t.Helper()
	db, closed, err := open(fs, memTable)
	if err != nil {
		return 0, err
	}
	for i := range n {
		if _, closer, err := db.Get(numbered(i)); err == nil {
			found++
			_ = closer.Close()
		}
	}
	return found, closed()
}

// newestLog returns the path of the newest log, and its content up to the last byte that is not 0.
func newestLog(t *testing.T, fs vfs.FS) (path string, content []byte) {
	t.Helper()
	names, err := fs.List("store")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			path = max(path, "store/"+name)
		}
	}
	return path, bytes.TrimRight(read(t, fs, path), "\x00")
}

func read(t *testing.T, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, fs vfs.FS, path string, content []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(content)
	dir, opened := fs.OpenDir("store")
	if err := errors.Join(err, f.Sync(), f.Close(), opened, dir.Sync(), dir.Close()); err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, fs vfs.FS, path string, offset int) {
	t.Helper()
	content := read(t, fs, path)
	content[offset] ^= 1 << (offset % 8)
	write(t, fs, path, content)
}

// TestFlippedBitInALog flips single bits of a log. What comes after them is never lost without an
// error, and nothing is changed: with the bit as it was, the store is whole.
func TestFlippedBitInALog(t *testing.T) {
	const writes = 400
	was := killed(t, writes)
	path, log := newestLog(t, was)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		offset := rng.IntN(len(log))
		fs := again(was)
		flip(t, fs, path, offset)
		kept := i%2 == 0
		if !kept { // a copy without the file
			if err := fs.Remove("store/" + syncedFile); err != nil {
				t.Fatal(err)
			}
		}
		found, err := opens(t, fs, writes)
		refused := andon.KindOf(err) == andon.Damaged && strings.Contains(err.Error(), path[6:])
		switch {
		case err == nil && found == writes: // padding
		case err == nil && !kept && offset > len(log)*9/10: // it may be the end that a crash left
		case !refused:
			t.Errorf("bit at %d of %d flipped, %s kept: %t: %v: %d of %d keys",
				offset, len(log), syncedFile, kept, err, found, writes)
		}
		if err == nil {
			continue
		}
		flip(t, fs, path, offset)
		if found, err = opens(t, fs, writes); err != nil || found != writes {
			t.Errorf("with the bit as it was: %v, %d of %d keys", err, found, writes)
		}
	}
}

// TestLogsCutShort empties, shortens and deletes the newest log.
func TestLogsCutShort(t *testing.T) {
	const writes = 100
	was := killed(t, writes)
	path, log := newestLog(t, was)
	for name, damage := range map[string]func(fs vfs.FS){
		"emptied":   func(fs vfs.FS) { write(t, fs, path, nil) },
		"shortened": func(fs vfs.FS) { write(t, fs, path, log[:len(log)-1]) },
		"halved":    func(fs vfs.FS) { write(t, fs, path, log[:len(log)/2]) },
		"deleted": func(fs vfs.FS) {
			if err := fs.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		fs := again(was)
		damage(fs)
		_, err := opens(t, fs, writes)
		if andon.KindOf(err) != andon.Damaged || !strings.Contains(err.Error(), path[6:]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRepairSaysWhatItCosts damages a log, asks what giving up costs, gives up, and opens.
func TestRepairSaysWhatItCosts(t *testing.T) {
	const writes = 400
	for _, deleted := range []bool{false, true} {
		fs := killed(t, writes)
		path, log := newestLog(t, fs)
		if flip(t, fs, path, len(log)/2); deleted {
			if err := fs.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if report := repair(t, fs, false); !strings.Contains(report, path[6:]) {
			t.Errorf("reported: %s", report)
		}
		if _, err := opens(t, fs, writes); andon.KindOf(err) != andon.Damaged {
			t.Errorf("asking changed something: %v", err)
		}
		report := repair(t, fs, true)
		dir := report[strings.Index(report, "store/andon.damaged-"):]
		dir, _, _ = strings.Cut(dir, ".\n")
		kept, err := fs.List(dir)
		if err != nil || !slices.Contains(kept, syncedFile) ||
			slices.Contains(kept, path[6:]) == deleted {
			t.Errorf("in %s are %v, %v", dir, kept, err)
		}
		found, err := opens(t, fs, writes)
		if err != nil || deleted != (found == 0) || !deleted && found < writes/3 {
			t.Errorf("given up: %v, %d of %d keys", err, found, writes)
		}
		if report := repair(t, fs, false); !strings.Contains(report, "whole") {
			t.Errorf("afterwards: %s", report)
		}
	}
}

func repair(t *testing.T, fs vfs.FS, giveUp bool) (report string) {
	t.Helper()
	desc, err := pebble.Peek("store", fs)
	if err != nil {
		t.Fatal(err)
	}
	l, err := walcheck.Find(fs, "store", desc)
	if err == nil {
		err = l.Repair(giveUp, func(line string) { report += line + "\n" })
	}
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestNoFalseAlarm cuts the power while logs, whose files are used again, are being synced: any
// blocks of what is not on the disk yet may be there, and others not. From every second copy
// andon.synced is removed. Each must open.
func TestNoFalseAlarm(t *testing.T) {
	fs := vfs.NewCrashableMem()
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(4, 4))
	var cut []*vfs.MemFS
	syncs := 0
	hook := func() {
		mu.Lock()
		defer mu.Unlock()
		if syncs++; syncs%2 == 0 {
			some := vfs.CrashCloneCfg{UnsyncedDataPercent: 30 + rng.IntN(70), RNG: rng}
			cut = append(cut, fs.CrashClone(some))
		}
	}
	db, closed, err := open(hookedFS{fs, hook}, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for w := range uint64(4) {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(3, w))
			for i := range 50 { // some span several blocks of the log
				value := make([]byte, rng.IntN(60<<10))
				if err := db.Set(numbered(i), value, pebble.Sync); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	if used := db.Metrics().Flush.Count; used < 5 {
		t.Errorf("%d logs were begun, and few of them in the file of a former one", used)
	}
	if err := closed(); err != nil {
		t.Error(err)
	}
	for i, after := range cut {
		if i%2 == 0 {
			_ = after.Remove("store/" + syncedFile)
		}
		_, err := check(after)
		if err == nil && i%20 == 0 {
			_, err = opens(t, after, 0)
		}
		if err != nil {
			t.Errorf("after cut %d of %d: %v", i, len(cut), err)
		}
	}
}

// hookedFS calls a hook before a log is synced.
type hookedFS struct {
	vfs.FS
	hook func()
}

func (h hookedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return h.hooked(name)(h.FS.Create(name, c))
}

func (h hookedFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return h.hooked(name)(h.FS.ReuseForWrite(old, name, c))
}

func (h hookedFS) hooked(name string) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if err == nil && strings.HasSuffix(name, ".log") {
			f = hookedFile{f, h.hook}
		}
		return f, err
	}
}

type hookedFile struct {
	vfs.File
	hook func()
}

func (f hookedFile) SyncData() error {
	f.hook()
	return f.File.SyncData()
}

// TestOtherProgramInBetween opens the store without andon.synced being kept: what it says of logs
// that are gone since proves nothing.
func TestOtherProgramInBetween(t *testing.T) {
	fs := killed(t, 10)
	db, err := pebble.Open("store", &pebble.Options{
		FS: fs, FormatMajorVersion: pebble.FormatValueSeparation, Logger: quiet{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := opens(t, fs, 10); err != nil || found != 10 {
		t.Errorf("%v, %d keys", err, found)
	}
}

// TestCopyEndsAtItsGap makes a gap in a log, as copying one that is written to may: the copy ends
// there, and opens.
func TestCopyEndsAtItsGap(t *testing.T) {
	const writes = 400
	fs := killed(t, writes)
	path, log := newestLog(t, fs)
	if err := fs.Remove("store/" + syncedFile); err != nil { // a copy has none
		t.Fatal(err)
	}
	flip(t, fs, path, len(log)/2)
	if _, err := opens(t, fs, writes); andon.KindOf(err) != andon.Damaged {
		t.Fatalf("a log with a gap: %v", err)
	}
	if err := walcheck.EndCopy(fs, "store"); err != nil {
		t.Fatal(err)
	}
	found, err := opens(t, fs, writes)
	if err != nil || found < writes/3 || found > writes*2/3 {
		t.Errorf("its end: %v, %d of %d keys", err, found, writes)
	}
}

// TestCopyIsNoLogOfTheStore has Pebble copy itself: what andon.synced says stays as it was.
func TestCopyIsNoLogOfTheStore(t *testing.T) {
	fs := vfs.NewMem()
	db, closed, err := open(fs, memTable)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Set([]byte("k"), nil, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	before := read(t, fs, "store/"+syncedFile)
	if err := db.Checkpoint("store/copy"); err != nil {
		t.Fatal(err)
	}
	if after := read(t, fs, "store/"+syncedFile); !bytes.Equal(before, after) {
		t.Error("andon.synced has changed")
	}
	if err := closed(); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedManifestIsRefused flips bits of each record, the last as well: Pebble would use the
// records before it alone, and delete tables.
func TestDamagedManifestIsRefused(t *testing.T) {
	fs := vfs.NewCrashableMem()
	db, closed, err := open(fs, memTable)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := errors.Join(db.Set(numbered(i), nil, pebble.Sync), db.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := closed(); err != nil {
		t.Fatal(err)
	}
	if _, err := check(fs); err != nil {
		t.Fatal(err)
	}
	complete := manifest(t, fs)
	rng := rand.New(rand.NewPCG(4, 4))
	for range 100 {
		fs, offset := again(fs), rng.IntN(len(complete))
		desc, err := pebble.Peek("store", fs)
		if err != nil {
			t.Fatal(err)
		}
		flip(t, fs, desc.ManifestFilename, offset)
		_, err = check(fs)
		if andon.KindOf(err) != andon.Damaged || !strings.Contains(err.Error(), "MANIFEST-") {
			t.Errorf("bit at %d of %d: %v", offset, len(complete), err)
		}
	}
	desc, err := pebble.Peek("store", fs)
	if err != nil {
		t.Fatal(err)
	}
	// A crash may tear what was not on the disk yet, and that alone.
	write(t, fs, desc.ManifestFilename, append(slices.Clone(complete), complete[:20]...))
	if _, err := check(fs); err != nil {
		t.Errorf("a torn record: %v", err)
	}
	write(t, fs, desc.ManifestFilename, complete[:len(complete)-1])
	if _, err := check(fs); andon.KindOf(err) != andon.Damaged {
		t.Errorf("an end that is missing: %v", err)
	}
	if err := fs.Remove("store/" + syncedFile); err != nil {
		t.Fatal(err)
	}
	if _, err := check(fs); err != nil {
		t.Errorf("a torn end of a copy: %v", err)
	}
}

func manifest(t *testing.T, fs vfs.FS) []byte {
	t.Helper()
	desc, err := pebble.Peek("store", fs)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, fs, desc.ManifestFilename)
}
