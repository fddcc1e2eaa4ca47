package pebblestore_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore"
	"github.com/andonhq/andon/storetest"
)

// TestSerialStore runs on a real directory.
func TestSerialStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) andon.Store {
		return open(t, t.TempDir(), pebblestore.Options{})
	})
}

// TestConcurrentChecks runs those of the checks that call a store from several goroutines at once.
func TestConcurrentChecks(t *testing.T) {
	storetest.RunConcurrent(t, func(t *testing.T) andon.Store {
		return open(t, t.TempDir(), pebblestore.Options{})
	})
}

// TestCapabilitiesTakeNoTime: the version of the engine is not looked up for each request.
func TestCapabilitiesTakeNoTime(t *testing.T) {
	s := open(t, "store", pebblestore.Options{FS: vfs.NewMem()})
	if n := testing.AllocsPerRun(10, func() { s.Capabilities() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestHistories sends what belongs together at the same time. The race detector makes a history ten
// times as long, so most of them are those of TestSerialHistories.
func TestHistories(t *testing.T) { histories(t, storetest.Options{Parallel: true, Rounds: 2}) }

func TestSerialHistories(t *testing.T) { histories(t, storetest.Options{}) }

// histories runs in memory, because it opens many stores, and opens each again in between, of
// a directory that was closed, of a snapshot, or as a power cut leaves it. Each of them is whole.
func histories(t *testing.T, o storetest.Options) {
	t.Helper()
	disks, opened := map[andon.Store]*vfs.MemFS{}, 0
	onDisk := func(t *testing.T, fs *vfs.MemFS) andon.Store {
		opened++
		o := pebblestore.Options{FS: fs}
		pebblestore.DeferDevices(&o, []int64{1, 1 << 8, 1 << 40}[opened%3], opened%2 == 0)
		s := open(t, "store", o)
		disks[s] = fs
		return s
	}
	o.Close = func(s andon.Store) error {
		delete(disks, s)
		return s.Close()
	}
	leave := func(s andon.Store) {
		if err := o.Close(s); err != nil {
			t.Fatal(err)
		}
	}
	reopened := 0
	o.Abort, o.Checkpoint = true, pebblestore.Checkpoint
	o.Reopen = func(s andon.Store) andon.Store {
		fs := disks[s]
		if reopened++; reopened%2 == 0 {
			fs = snapshotOf(t, s, fs)
		} else if err := pebblestore.Finish(t.Context(), s); err != nil {
			t.Error(err)
		}
		leave(s)
		verify(t, fs)
		return onDisk(t, fs)
	}
	o.Crash = func(s andon.Store) andon.Store {
		after := disks[s].CrashClone(vfs.CrashCloneCfg{})
		leave(s)
		verify(t, after)
		return onDisk(t, after)
	}
	storetest.Histories(t,
		func(t *testing.T) andon.Store { return onDisk(t, vfs.NewCrashableMem()) }, o)
}

func open(t *testing.T, dir string, o pebblestore.Options) andon.Store {
	t.Helper()
	const years = 100 * 365 * 24 * time.Hour // histories go on by days
	o.ChangesFor, o.ArrivalsFor = years, years
	s, err := pebblestore.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// snapshotOf returns a file system that has a snapshot of a store.
func snapshotOf(t *testing.T, s andon.Store, fs *vfs.MemFS) *vfs.MemFS {
	t.Helper()
	copied := vfs.NewCrashableMem()
	err := s.(*pebblestore.Store).Snapshot(t.Context(), func(dir string, _ []string) error {
		_, err := vfs.Clone(fs, copied, dir, "store", vfs.CloneSync)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// verify fails where something of a store is said to be damaged.
func verify(t *testing.T, fs vfs.FS) {
	t.Helper()
	tell := func(place, what string) { t.Errorf("%s: %s", place, what) }
	o := pebblestore.Options{FS: fs}
	_, err := pebblestore.Verify(t.Context(), "store", o, tell, func(int64, int64) {})
	if err != nil {
		t.Error(err)
	}
}
