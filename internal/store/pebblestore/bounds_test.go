package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// manyDevices returns as many devices as fill several records, each with an entry.
func manyDevices() []andon.Event {
	var events []andon.Event
	for n := range 5000 {
		device := andon.DeviceID(fmt.Sprintf("device-%05d", n))
		events = append(events, andon.Event{Device: device, Time: andon.MinTime, State: "WARNING1"})
	}
	return events
}

// TestLargeWriteHasSmallRecords: a large write is rebuilt from several records, none of them large.
func TestLargeWriteHasSmallRecords(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	events := manyDevices()
	if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
		t.Fatal(err)
	}
	records := 0
	for _, value := range s.rows(layout.Key{layout.TableRow}) {
		if records++; len(value) > 32<<10 {
			t.Errorf("a record has %d bytes", len(value))
		}
	}
	if records < 2 {
		t.Errorf("%d records, want several", records)
	}
	after := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open("store", Options{FS: after}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	counts, err := s.Counts(t.Context(), andon.DefaultTenant, 0)
	want := []andon.StateCount{{State: "WARNING1", Count: len(events)}}
	if diff := cmp.Diff(want, counts); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// TestReaderWhoLeftIsNotReadFor: a scan that finds nothing for its reader ends with the reader's
// context, and so does a write that waited.
func TestReaderWhoLeftIsNotReadFor(t *testing.T) {
	s, err := Open("store", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Append(t.Context(), andon.DefaultTenant, 1, manyDevices()); err != nil {
		t.Fatal(err)
	}
	if err := s.flushDue(); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	k := layout.NewKey(layout.TableBlock, 1)
	it, err := engine.NewIterator(ctx, s.db, k, k.End())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Release()
	steps := 0
	for ok := it.First(); ok; ok = it.Next() {
		if steps++; steps == 100 {
			leave()
		}
	}
	if !errors.Is(it.Error(), context.Canceled) || steps > 200 {
		t.Errorf("read %d rows, %v; want an end soon after the reader left", steps, it.Error())
	}
	nothing := func() error { return nil }
	if err := s.ordered(ctx, nothing); !errors.Is(err, context.Canceled) {
		t.Errorf("a write whose client left entered the ordered section: %v", err)
	}
	if err := s.ordered(t.Context(), nothing); err != nil {
		t.Errorf("the ordered section was not left: %v", err)
	}
}
