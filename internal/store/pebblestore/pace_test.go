package pebblestore

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// restingFS lets the tables that the engine writes be distinguished from the others.
type restingFS struct {
	vfs.FS
	tables chan vfs.DiskWriteCategory
}

// Create implements vfs.FS.
func (f *restingFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if engine.IsPaced(c) {
		select {
		case f.tables <- c:
		default:
		}
	}
	return f.FS.Create(name, c)
}

// Unwrap implements vfs.Root.
func (f *restingFS) Unwrap() vfs.FS { return f.FS }

// TestEngineIsPaced sees that the engine names its files as isPaced knows them, and that a file of
// it rests.
func TestEngineIsPaced(t *testing.T) {
	f := &restingFS{FS: vfs.NewMem(), tables: make(chan vfs.DiskWriteCategory, 100)}
	s, err := Open("store", Options{FS: f})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := range 2 {
		err := errors.Join(s.db.Set(layout.Key{layout.TableFixed, byte(n)}, nil, pebble.Sync),
			s.db.Flush())
		if err != nil {
			t.Fatal(err)
		}
	}
	from := layout.Key{layout.TableFixed}
	if err := s.db.Compact(context.Background(), from, from.End(), false); err != nil {
		t.Fatal(err)
	}
	seen := map[vfs.DiskWriteCategory]bool{}
	for len(seen) < 2 {
		select {
		case c := <-f.tables:
			seen[c] = true
		default:
			t.Fatalf("paced tables are of %v only: a flush and a compaction were made", seen)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		all := engine.NewPacing(1)
		all.DB.Store(s.db)
		all.Looked.Store(int64(engine.SinceStart())) // the engine is not asked from here
		defer all.Stop()
		file, err := vfs.NewMem().Create("table", vfs.WriteCategoryUnspecified)
		paced, begun := all.Paced(file), time.Now()
		for range 3 {
			<-time.After(time.Millisecond)
			_, failed := paced.Write(make([]byte, engine.PaceBytes/2))
			err = errors.Join(err, failed)
		}
		if took := time.Since(begun); took != 9*time.Millisecond || err != nil {
			t.Errorf("took %s, %v, want 9ms", took, err)
		}
	})
}

// heldFS holds up the engine where it begins to write a memtable out.
type heldFS struct {
	vfs.FS
	holds atomic.Bool
	begun chan struct{} // gets one for each
	held  chan struct{} // ends when they may go on
}

// Create implements vfs.FS.
func (f *heldFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if f.holds.Load() && c == "pebble-memtable-flush" {
		f.begun <- struct{}{}
		<-f.held
	}
	return f.FS.Create(name, c)
}

// Unwrap implements vfs.Root.
func (f *heldFS) Unwrap() vfs.FS { return f.FS }

// TestFlushDuringAFlushOfPebble ends a flush while a memtable is being written out: no write waits
// for that. Where writes do wait, the engine does not rest.
func TestFlushDuringAFlushOfPebble(t *testing.T) {
	f := &heldFS{FS: vfs.NewMem(), begun: make(chan struct{}, 9), held: make(chan struct{})}
	s, err := Open("store", Options{FS: f, memTable: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f.holds.Store(true)
	err = s.db.Set(layout.Key{layout.TableFixed}, nil, pebble.Sync)
	first, err2 := s.db.AsyncFlush()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	<-f.begun
	late := func() bool { return s.options.pacing.Stalled.Load() }
	forgot := make(chan error, 1)
	go func() { forgot <- s.env.ForgetRows(int64(s.options.memTable)) }()
	for len(forgot) == 0 && !late() {
		runtime.Gosched()
	}
	if late() {
		t.Error("the end of a flush has all writes wait")
	}
	second := make(chan error, 1)
	go func() { second <- s.db.Flush() }()
	for !late() {
		runtime.Gosched()
	}
	if !s.options.pacing.EngineLate() {
		t.Error("the engine rests while writes wait for it")
	}
	close(f.held)
	<-first
	if err := errors.Join(<-forgot, <-second); err != nil || late() {
		t.Errorf("flushed: %v; writes wait still: %v", err, late())
	}
}
