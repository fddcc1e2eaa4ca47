package pebblestore

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/andonhq/andon"
)

// TestSnapshotsWhileWriting takes snapshots while four writers append and flushes write what they
// sent: each has all that was acknowledged before, and devices show what their histories say.
func TestSnapshotsWhileWriting(t *testing.T) {
	mem := vfs.NewMem()
	s, err := Open("store", Options{
		FS: mem, memTable: 64 << 10, Memory: 32 << 10, table: 1 << 10, maxWait: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var certain []andon.Event
	var writers sync.WaitGroup
	for w := range uint64(4) {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(w, 11))
			for range 60 {
				events := randomEvents(rng)
				if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				certain = append(certain, events...)
				mu.Unlock()
			}
		})
	}
	for range 3 {
		mu.Lock()
		before := slices.Clone(certain)
		mu.Unlock()
		copied := vfs.NewMem()
		err := s.Snapshot(t.Context(), func(dir string, _ []string) error {
			_, err := vfs.Clone(mem, copied, dir, "store")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if found, _ := verifyMem(t, copied); len(found) > 0 {
			t.Errorf("a snapshot is damaged: %q", found)
		}
		checkAfterCrash(t, copied, before)
	}
	writers.Wait()
	s.wasFlushed(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	checkAfterCrash(t, mem, certain)
}

// TestSnapshotDuringOtherWork has a merge, and a flush of readings, begin while the engine copies
// itself: its tables as they were before, and then its logs as they are after.
func TestSnapshotDuringOtherWork(t *testing.T) {
	image := stepImage(t)
	for name, work := range map[string]func(*Store) error{
		"a merge": (*Store).mergeAll, "a flush of readings": (*Store).flushReadings,
	} {
		var s *Store
		var begun atomic.Bool
		ended := make(chan error, 1)
		fs := errorfs.Wrap(image.copied(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			copies := op.Kind == errorfs.OpCreate && strings.Contains(op.Path, snapshotDir)
			if !copies || !begun.CompareAndSwap(false, true) {
				return nil
			}
			go func() { ended <- work(s) }()
			select {
			case err := <-ended:
				ended <- err
			case <-time.After(50 * time.Millisecond): // the wait only lets a defect show
			}
			return nil
		}))
		s, err := Open("store", stepOptions(fs))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(stepBackup(t.Context(), s), <-ended, s.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSnapshotLeavesTheStoreAlone has a snapshot fail where it copies the log: the store goes on
// and keeps nothing of the snapshot.
func TestSnapshotLeavesTheStoreAlone(t *testing.T) {
	mem := vfs.NewMem()
	on := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		writes := op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpFileWrite
		if writes && strings.Contains(op.Path, snapshotDir) && strings.HasSuffix(op.Path, ".log") {
			return errorfs.ErrInjected
		}
		return nil
	})}
	s, err := Open("store", Options{FS: errorfs.Wrap(mem, &on), Fatal: func(err error) {
		t.Errorf("the process would end: %v", err)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	appendOne(t, s, "one")
	on.On()
	err = s.Snapshot(t.Context(), func(string, []string) error { return nil })
	on.Off()
	if err == nil {
		t.Error("the snapshot did not fail")
	}
	appendOne(t, s, "two")
	if names := list(t, mem); slices.Contains(names, snapshotDir) {
		t.Errorf("there are %q", names)
	}
	err = s.Snapshot(t.Context(), func(_ string, files []string) error {
		other := s.Snapshot(t.Context(), func(string, []string) error { return nil })
		if andon.KindOf(other) != andon.Conflict {
			t.Errorf("a second snapshot during this one: %v", other)
		}
		if !slices.ContainsFunc(files, func(name string) bool {
			return strings.HasPrefix(name, "marker.manifest.")
		}) {
			t.Errorf("it has %q", files)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestLeftSnapshotIsRemoved kills a process that takes a snapshot.
func TestLeftSnapshotIsRemoved(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := openMem(t, mem)
	defer s.Close()
	events := warnings(5)
	var killed *vfs.MemFS
	err := errors.Join(s.Append(t.Context(), andon.DefaultTenant, 1, events), s.flushDue(),
		s.db.Flush(), s.Snapshot(t.Context(), func(string, []string) error {
			killed = mem.CrashClone(vfs.CrashCloneCfg{})
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(list(t, killed), snapshotDir) {
		t.Fatal("the snapshot is not there")
	}
	again := openMem(t, killed)
	defer again.Close()
	checkFound(t, again, events)
	if names := list(t, killed); slices.Contains(names, snapshotDir) {
		t.Errorf("after the next start there are %q", names)
	}
}

// TestCopyOfAClosedStore has the files that make a store, and no others.
func TestCopyOfAClosedStore(t *testing.T) {
	mem := vfs.NewMem()
	s := openMem(t, mem)
	appendOne(t, s, "d")
	nothing := func(string, []string) error { return nil }
	if err := Copy("store", Options{FS: mem}, nothing); andon.KindOf(err) != andon.Conflict {
		t.Errorf("a store in use: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	copied := vfs.NewMem()
	if err := copied.MkdirAll("store", 0o700); err != nil {
		t.Fatal(err)
	}
	err := Copy("store", Options{FS: mem}, func(dir string, files []string) error {
		for _, name := range files {
			if err := vfs.CopyAcrossFS(mem, dir+"/"+name, copied, dir+"/"+name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if names := list(t, copied); slices.Contains(names, "andon.lock") ||
		!slices.Contains(names, "andon.synced") {
		t.Errorf("the copy has %q", names)
	}
	s = openMem(t, copied)
	defer s.Close()
	if _, err := s.Device(t.Context(), andon.DefaultTenant, "d"); err != nil {
		t.Error(err)
	}
	if err := mem.MkdirAll("empty", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Copy("empty", Options{FS: mem}, nothing); andon.KindOf(err) != andon.Invalid {
		t.Errorf("an empty directory: %v", err)
	}
}

// TestBrokenRestoreIsNoStore: a directory that a restore has left half done does not become an
// empty store.
func TestBrokenRestoreIsNoStore(t *testing.T) {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("store/andon.restoring", 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Open("store", Options{FS: mem})
	if andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(), "restore") {
		t.Errorf("%v", err)
	}
}
