package pebblestore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// killed returns the file system of a process that was killed behind its n-th acknowledged event.
func killed(t *testing.T, n int) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	storeWithTables(t, fs) // the first log of a store has an older form
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		appendOne(t, s, numbered(i))
	}
	all := vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}
	after := fs.CrashClone(all)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return after
}

// numbered is long, so that a log has several blocks soon.
func numbered(i int) andon.DeviceID {
	return andon.DeviceID(fmt.Sprintf("press-%s-%04d", strings.Repeat("x", 100), i))
}

func again(fs *vfs.MemFS) *vfs.MemFS { return fs.CrashClone(vfs.CrashCloneCfg{}) }

// newestLog returns the path of the newest log, and where replaying it ends.
func newestLog(t *testing.T, fs vfs.FS) (path string, end int64) {
	t.Helper()
	desc, err := pebble.Peek("store", fs)
	if err != nil {
		t.Fatal(err)
	}
	l, err := findLogs(fs, "store", desc)
	if err != nil {
		t.Fatal(err)
	}
	numbers := l.from(0)
	newest := numbers[len(numbers)-1]
	s, err := l.scan(newest)
	if err != nil {
		t.Fatal(err)
	}
	return l.paths[newest], s.end
}

func flip(t *testing.T, fs vfs.FS, path string, at int64) {
	t.Helper()
	content, err := readFile(fs, path)
	if err != nil {
		t.Fatal(err)
	}
	content[at] ^= 1 << (at % 8)
	write(t, fs, path, content)
	syncFile(t, fs, path)
}

func syncFile(t *testing.T, fs vfs.FS, path string) {
	t.Helper()
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close(), syncDirectory(fs, "store"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// opens opens the store and returns how many of the first n devices it has.
func opens(t *testing.T, fs vfs.FS, n int) (there int, err error) {
	t.Helper()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		return 0, err
	}
	for i := range n {
		if _, err := s.Device(t.Context(), andon.DefaultTenant, numbered(i)); err == nil {
			there++
		}
	}
	return there, s.Close()
}

// TestSerialFlippedBitInALog flips single bits of a log. What is behind them is never lost without
// a word, and nothing is changed: restored, the store is whole.
func TestSerialFlippedBitInALog(t *testing.T) {
	const events = 400
	was := killed(t, events)
	path, end := newestLog(t, was)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		at := rng.Int64N(end)
		fs := again(was)
		flip(t, fs, path, at)
		named := i%2 == 0
		if !named { // written by a program that did not keep it, or left out of a copy
			if err := fs.Remove("store/" + syncedFile); err != nil {
				t.Fatal(err)
			}
		}
		there, err := opens(t, fs, events)
		refused := andon.KindOf(err) == andon.Damaged && strings.Contains(err.Error(), path[6:])
		switch {
		case err == nil && there == events: // padding
		case err == nil && !named && at > end*9/10: // it may be the end that a crash left
		case !refused:
			t.Errorf("bit at %d of %d flipped, %s there: %v: %t: %d of %d devices",
				at, end, syncedFile, named, err, there, events)
		}
		if err == nil {
			continue
		}
		flip(t, fs, path, at)
		if there, err = opens(t, fs, events); err != nil || there != events {
			t.Errorf("restored: %v, %d of %d devices", err, there, events)
		}
	}
}

// TestLogsCutShort empties, shortens and deletes the newest log.
func TestLogsCutShort(t *testing.T) {
	const events = 100
	was := killed(t, events)
	path, end := newestLog(t, was)
	for name, damage := range map[string]func(fs vfs.FS){
		"emptied":   func(fs vfs.FS) { write(t, fs, path, nil) },
		"shortened": func(fs vfs.FS) { shorten(t, fs, path, end-1) },
		"halved":    func(fs vfs.FS) { shorten(t, fs, path, end/2) },
		"deleted": func(fs vfs.FS) {
			if err := fs.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		fs := again(was)
		damage(fs)
		_, err := opens(t, fs, events)
		if andon.KindOf(err) != andon.Damaged || !strings.Contains(err.Error(), path[6:]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func shorten(t *testing.T, fs vfs.FS, path string, bytes int64) {
	t.Helper()
	content, err := readFile(fs, path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, fs, path, content[:bytes])
}

// TestRepairSaysWhatItCosts damages a log, asks what giving up costs, gives up, and opens.
func TestRepairSaysWhatItCosts(t *testing.T) {
	const events = 400
	for _, deleted := range []bool{false, true} {
		fs := killed(t, events)
		path, end := newestLog(t, fs)
		if flip(t, fs, path, end/2); deleted {
			if err := fs.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		repair := func(giveUp bool) (told string) {
			err := Repair("store", Options{FS: fs}, giveUp, func(line string) {
				told += line + "\n"
			})
			if err != nil {
				t.Fatal(err)
			}
			return told
		}
		if told := repair(false); !strings.Contains(told, path[6:]) {
			t.Errorf("told: %s", told)
		}
		if _, err := opens(t, fs, events); andon.KindOf(err) != andon.Damaged {
			t.Errorf("asking changed something: %v", err)
		}
		told := repair(true)
		aside := told[strings.Index(told, "store/andon.damaged-"):]
		aside, _, _ = strings.Cut(aside, ".\n")
		kept, err := fs.List(aside)
		if err != nil || !slices.Contains(kept, syncedFile) ||
			slices.Contains(kept, path[6:]) == deleted {
			t.Errorf("in %s are %v, %v", aside, kept, err)
		}
		there, err := opens(t, fs, events)
		if err != nil || deleted != (there == 0) || !deleted && there < events/3 {
			t.Errorf("given up: %v, %d of %d devices", err, there, events)
		}
		if told := repair(false); !strings.Contains(told, "whole") {
			t.Errorf("afterwards: %s", told)
		}
	}
}

// TestNoFalseAlarm cuts the power while logs, which are used again and again, are being synced: any
// blocks of what is not on the disk yet may be there, and others not. syncedFile is taken away from
// half of what the disk then holds. It must always open.
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
	s, err := Open("store", Options{FS: hookedFS{fs, hook}, memTable: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for w := range uint64(4) {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(3, w))
			for range 25 {
				err := s.Append(t.Context(), andon.DefaultTenant, 1, someEvents(rng))
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	if used := s.db.Metrics().Flush.Count; used < 5 {
		t.Errorf("%d logs were begun, and few of them in the file of a former one", used)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for i, after := range cut {
		if i%2 == 0 {
			_ = after.Remove("store/" + syncedFile)
		}
		err := checksLogs(after)
		if err == nil && i%20 == 0 {
			_, err = opens(t, after, 0)
		}
		if err != nil {
			t.Errorf("after cut %d of %d: %v", i, len(cut), err)
		}
	}
}

// checksLogs is what opening does before the engine.
func checksLogs(fs vfs.FS) error {
	desc, err := pebble.Peek("store", fs)
	if err != nil {
		return err
	}
	l, err := findLogs(fs, "store", desc)
	if err != nil {
		return err
	}
	return l.check()
}

// hookedFS calls a hook before a log is synced.
type hookedFS struct {
	vfs.FS
	hook func()
}

func (h hookedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return h.hooked(name)(h.FS.Create(name, c))
}

func (h hookedFS) ReuseForWrite(was, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return h.hooked(name)(h.FS.ReuseForWrite(was, name, c))
}

func (h hookedFS) hooked(name string) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if err == nil && logNumber(h.FS, name) != 0 {
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

// someEvents are up to 500 events, so that a request spans several blocks of the log.
func someEvents(rng *rand.Rand) []andon.Event {
	var events []andon.Event
	for i := range 1 + rng.IntN(500) {
		events = append(events, andon.Event{
			Device: numbered(i), Time: andon.MinTime + andon.Time(rng.Int64N(1e9)), State: "A",
		})
	}
	return events
}

// TestOlderProgramInBetween opens the store without syncedFile being kept, as a program of
// yesterday does: what it says of logs that are gone since proves nothing.
func TestOlderProgramInBetween(t *testing.T) {
	fs := killed(t, 10)
	o := Options{FS: fs}
	o.complete()
	db, err := pebble.Open("store", pebbleOptions(&o))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if there, err := opens(t, fs, 10); err != nil || there != 10 {
		t.Errorf("%v, %d devices", err, there)
	}
}
