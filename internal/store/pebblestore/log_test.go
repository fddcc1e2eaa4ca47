package pebblestore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// killed returns the file system of a process that was killed after its n-th acknowledged event.
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

func flip(t *testing.T, fs vfs.FS, path string, at int64) {
	t.Helper()
	content := read(t, fs, path)
	content[at] ^= 1 << (at % 8)
	write(t, fs, path, content)
	syncFile(t, fs, path)
}

func syncFile(t *testing.T, fs vfs.FS, path string) {
	t.Helper()
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fs.OpenDir(fs.PathDir(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close(), dir.Sync(), dir.Close()); err != nil {
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

// TestDamagedLog flips a bit in the middle of a log: the store does not open, until that is given
// up. Then it has what came before.
func TestDamagedLog(t *testing.T) {
	const events = 400
	fs := killed(t, events)
	path := newestLog(t, fs)
	content := read(t, fs, path)
	flip(t, fs, path, int64(len(content)/2))
	if _, err := opens(t, fs, events); andon.KindOf(err) != andon.Damaged ||
		!strings.Contains(err.Error(), path[6:]) {
		t.Errorf("a damaged log: %v", err)
	}
	for _, giveUp := range []bool{false, true} {
		report := ""
		err := Repair("store", Options{FS: fs}, giveUp, func(line string) { report += line })
		if err != nil || !strings.Contains(report, path[6:]) {
			t.Errorf("reported: %q, %v", report, err)
		}
	}
	found, err := opens(t, fs, events)
	if err != nil || found < events/3 || found > events*2/3 {
		t.Errorf("given up: %v, %d of %d devices", err, found, events)
	}
}

func newestLog(t *testing.T, fs vfs.FS) (path string) {
	t.Helper()
	for _, name := range list(t, fs) {
		if strings.HasSuffix(name, ".log") {
			path = max(path, "store/"+name)
		}
	}
	return path
}
