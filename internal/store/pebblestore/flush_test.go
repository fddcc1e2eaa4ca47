package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
)

// TestNoReaderMissesAnEntryDuringAFlush reads what was acknowledged while small memtables are
// frozen, flushed and dropped all the time.
func TestNoReaderMissesAnEntryDuringAFlush(t *testing.T) {
	s, err := Open("store", Options{FS: vfs.NewMem(), Memory: 16 << 10, maxWait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const writers, each = 4, 250
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			device := andon.DeviceID(fmt.Sprint("d", w))
			for n := range each {
				e := andon.Event{
					Device: device, Time: andon.MinTime + andon.Time(n)*1e9, State: "NORMAL",
					Operator: "Liz", Message: fmt.Sprint("message ", n),
				}
				err := s.Append(t.Context(), andon.DefaultTenant, 1, []andon.Event{e})
				if err != nil {
					t.Error(err)
					return
				}
				if n%7 == 0 && !shows(t, s, e, n+1) {
					return
				}
			}
		})
	}
	running.Wait()
	s.wasFlushed(t)
}

// shows reports whether the newest entries of a device are there, by each way that leads to them.
func shows(t *testing.T, s *Store, e andon.Event, entries int) bool {
	ctx, id := context.Background(), andon.DefaultTenant
	got, err := s.Entry(ctx, id, e.Device, e.Time, e.State)
	if err != nil || got.Event != e {
		t.Errorf("entry %+v, %v, want %+v", got, err, e)
		return false
	}
	n := 0
	for is, err := range s.DeviceEvents(ctx, id, e.Device, andon.EventQuery{Limit: 1000}) {
		if want := e.Time - andon.Time(n)*1e9; err != nil || is.Time != want {
			t.Errorf("entry %d of %s is %s, %v, want %s", n, e.Device, is.Time, err, want)
			return false
		}
		n++
	}
	if n != entries {
		t.Errorf("%s has %d entries, want %d", e.Device, n, entries)
		return false
	}
	hour := andon.EventQuery{Limit: 1000, Span: andon.Span{From: e.Time, To: e.Time}}
	for is, err := range s.OperatorEvents(ctx, id, "Liz", hour) {
		if is == e && err == nil {
			return true
		}
	}
	t.Errorf("the operator's list has no %+v", e)
	return false
}

// TestCrashInAFlush cuts the power at any moment of flushes, and goes on after the cut. What was
// acknowledged is there once, and no block has what no row had. The race detector watches one of
// them.
func TestCrashInAFlush(t *testing.T) { crashInFlushes(t, 1) }

func TestSerialCrashInAFlush(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { crashInFlushes(t, seed) })
	}
}

func crashInFlushes(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 8))
	fs := newCrashable()
	var certain []andon.Event
	for range 4 {
		s, err := Open("store", Options{
			FS: fs, memTable: 64 << 10, Memory: 32 << 10, table: 1 << (8 + 2*seed),
			maxWait: time.Hour, lag: 1 << (20 * (seed % 3)),
		})
		if err != nil {
			t.Fatal(err)
		}
		at := rng.IntN(60)
		var after *crashable
		var then int
		for n := range 60 {
			events := randomEvents(rng)
			if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
				t.Fatal(err)
			}
			certain = append(certain, events...)
			if n == at { // a flush may be under way
				s.checkpoints.Want()
				then = len(certain)
				after = fs.crash(vfs.CrashCloneCfg{
					UnsyncedDataPercent: rng.IntN(101), RNG: rng,
				})
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		fs, certain = after, certain[:then]
		checkAfterCrash(t, fs.crash(vfs.CrashCloneCfg{}), certain)
	}
}

// TestFlushIsRepeated has a flush fail at its end: its blocks and the entries in the memtable are
// the same entries, for readers, for the next flush, and after a restart.
func TestFlushIsRepeated(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	first := warnings(50)
	append1 := func(events []andon.Event) {
		t.Helper()
		if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
			t.Fatal(err)
		}
	}
	append1(first)
	if err := s.writeBlocks(t.Context(), false); err != nil { // and no further
		t.Fatal(err)
	}
	again := warnings(50)
	for i := range again {
		again[i].Message = "again"
	}
	append1(again[:25])
	check := func() {
		t.Helper()
		for i, want := range append(again[:25:25], first[25:]...) {
			got, err := s.Entry(
				t.Context(), andon.DefaultTenant, want.Device, want.Time, want.State)
			if err != nil || got.Event != want {
				t.Fatalf("entry %d is %+v, %v, want %+v", i, got.Event, err, want)
			}
			n := 0
			all := andon.EventQuery{Limit: 10}
			for e, err := range s.DeviceEvents(t.Context(), andon.DefaultTenant, want.Device, all) {
				if n++; err != nil || e != want {
					t.Fatalf("entry %d is listed as %+v, %v, want %+v", i, e, err, want)
				}
			}
			if n != 1 {
				t.Fatalf("entry %d is there %d times", i, n)
			}
		}
	}
	check()
	if err := s.sync(); err != nil {
		t.Fatal(err)
	}
	s, fs = crashed(t, s, fs)
	check()
	for range 2 {
		if err := s.flushDue(); err != nil {
			t.Fatal(err)
		}
		check()
		s, fs = crashed(t, s, fs)
		check()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSlowFlushIsNotAwaited: where a flush does not end, writes that find the memtable full are
// refused in about a second, not held up, and go on once it has ended.
func TestSlowFlushIsNotAwaited(t *testing.T) {
	s, err := Open("store", Options{FS: vfs.NewMem(), Reserve: 1, Memory: 8 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	write := func() error {
		n++
		events := warnings(50)
		for i := range events {
			events[i].Time += andon.Time(n)
		}
		return s.Append(t.Context(), andon.DefaultTenant, 1, events)
	}
	_ = s.log.Flush(func(f entries.Flush) error { // which does not end
		f.Freeze(s.pipe.Next, s.checkpoints.grown.Load())
		for err == nil && n < 1000 {
			err = write()
		}
		return nil
	})
	if andon.KindOf(err) != andon.Busy {
		t.Fatalf("write %d: %v, want Busy", n, err)
	}
	for err = write(); andon.KindOf(err) == andon.Busy; err = write() {
	}
	if err != nil {
		t.Error(err)
	}
}

// TestManyStatesAtOneInstant: an instant is in one block, however many entries it has.
func TestManyStatesAtOneInstant(t *testing.T) {
	s := openMem(t, vfs.NewCrashableMem())
	defer s.Close()
	var events []andon.Event
	for n := range 700 {
		events = append(events, andon.Event{
			Device: "d", Time: andon.MinTime, State: andon.State(fmt.Sprintf("S%03d", n)),
		})
	}
	if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		n := 0
		all := andon.EventQuery{Limit: 1000, Order: andon.Asc}
		for e, err := range s.DeviceEvents(t.Context(), andon.DefaultTenant, "d", all) {
			if err != nil || e != events[n] {
				t.Fatalf("%+v, %v, want %+v", e, err, events[n])
			}
			n++
		}
		if n != len(events) {
			t.Errorf("%d of %d", n, len(events))
		}
		if err := s.flushDue(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFlushIsRepeatedAfterAMerge: a merge leaves the blocks of a flush that was broken off, which
// writes under the same keys when it is done again.
func TestFlushIsRepeatedAfterAMerge(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	send := func(times ...andon.Time) {
		t.Helper()
		var events []andon.Event
		for _, at := range times {
			events = append(events,
				andon.Event{Device: "d", Time: andon.MinTime + at, State: "NORMAL"})
		}
		if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
			t.Fatal(err)
		}
	}
	const flushed = blocks.MergeRuns - 1 // with one more they would be merged, whatever the day
	for at := range andon.Time(flushed) {
		send(50 + at)
		if err := s.flushDue(); err != nil {
			t.Fatal(err)
		}
	}
	// before and after the others, so that their block has the key of the merged one
	send(1, 99)
	err := s.writeBlocks(t.Context(), false) // and no further
	if err := errors.Join(err, s.mergeAll(), s.flushDue()); err != nil {
		t.Fatal(err)
	}
	n, err := howMany(s.DeviceEvents(t.Context(), andon.DefaultTenant, "d",
		andon.EventQuery{Limit: 99}))
	if n != flushed+2 || err != nil {
		t.Errorf("%d entries are left of %d, %v", n, flushed+2, err)
	}
}

// TestDevicesAreWrittenAgain: where the engine does not take in the tables of a flush, the next one
// writes the devices that were in them, and their days.
func TestDevicesAreWrittenAgain(t *testing.T) {
	mem := vfs.NewCrashableMem()
	failing := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpLink {
			return os.ErrPermission // of others the engine makes a copy
		}
		return nil
	})}
	s, err := Open("store", Options{FS: errorfs.Wrap(mem, &failing), table: 4 << 10, lag: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), andon.DefaultTenant, 1, warnings(50)); err != nil {
		t.Fatal(err)
	}
	failing.On()
	err = s.flushDue()
	failing.Off()
	if err == nil {
		t.Error("the tables were taken in nevertheless")
	}
	if err := s.flushDue(); err != nil {
		t.Fatal(err)
	}
	s, mem = crashed(t, s, mem)
	n, err := howMany(s.Devices(t.Context(), andon.DefaultTenant, andon.DeviceQuery{Limit: 100}))
	if n != 50 || err != nil {
		t.Errorf("%d devices, %v, want 50", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found, _ := verifyMem(t, mem); len(found) > 0 {
		t.Errorf("found is %q", found)
	}
}

// TestDayIsEnteredAgain: a late entry of a day that has expired is found.
func TestDayIsEnteredAgain(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	id, late := andon.DefaultTenant, andon.Event{Device: "d", Time: andon.MinTime, State: "ODD"}
	beyond := andon.Horizon{Events: andon.DayStart(late.Time.Day() + 1)}
	for range 2 {
		err := errors.Join(s.Append(t.Context(), id, 1, []andon.Event{late}), s.flushDue())
		if err != nil {
			t.Fatal(err)
		}
		all := andon.EventQuery{Limit: 10}
		if n, err := howMany(s.DeviceEvents(t.Context(), id, "d", all)); n != 1 || err != nil {
			t.Errorf("%d entries, %v, want 1", n, err)
		}
		if err := s.Expire(t.Context(), id, beyond); err != nil {
			t.Fatal(err)
		}
		late.Time += 1000
	}
}

// TestVerifyAfterABrokenFlush: a crash may leave a block of a flush without what leads to it. The
// rows still have its entries, so that is no damage.
func TestVerifyAfterABrokenFlush(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	if err := s.Append(t.Context(), andon.DefaultTenant, 1, warnings(5)); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken off")
	s.env.Table = 1 // so that each row is on the disk at once
	tables := 0
	s.env.FS = gatedFS{fs, func() error {
		if tables++; tables > 3 { // a run, its first block, and the day of its device
			return broken
		}
		return nil
	}}
	err := s.log.Flush(func(f entries.Flush) error {
		f.Freeze(s.pipe.Next, s.checkpoints.grown.Load())
		return f.Write(t.Context(), s.entryTenants(), nil)
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found, rows := verifyMem(t, fs)
	if len(found) > 0 || rows["blocks"] != 1 {
		t.Errorf("found is %q; %d blocks", found, rows["blocks"])
	}
}

// TestPurgeAfterABrokenFlush breaks a flush off at each of its tables, of one row or of some, and
// then purges a device, with a power cut before that, after it or not at all: no block of the
// device is left, and merges and verifying find what they should.
func TestPurgeAfterABrokenFlush(t *testing.T) {
	for _, size := range []int{1, 200} {
		for _, cut := range []string{"no", "before", "after"} {
			for tables, broken := 0, true; broken; tables++ {
				broken = purgeAfterABrokenFlush(t, size, tables, cut)
			}
		}
	}
}

func purgeAfterABrokenFlush(t *testing.T, size, tables int, cut string) (broken bool) {
	t.Helper()
	const id = andon.DefaultTenant
	place := fmt.Sprintf("after %d tables of %d bytes, power cut %s", tables, size, cut)
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	sent, left, whole := warnings(8), tables, s.env.Table
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", place, err)
		}
	}
	must(s.Append(t.Context(), id, 1, sent))
	s.env.Table = size
	s.env.FS = gatedFS{fs, func() error {
		if left--; left < 0 {
			return errors.New("broken off")
		}
		return nil
	}}
	broken = s.flushNow(t.Context()) != nil
	s.env.Table, s.env.FS = whole, fs
	if cut == "before" {
		s, fs = crashed(t, s, fs)
	}
	must(s.Purge(t.Context(), id, sent[0].Device))
	if cut == "after" {
		s, fs = crashed(t, s, fs)
	}
	must(s.flushDue())
	must(s.Append(t.Context(), id, 1, sent[1:]))
	must(s.flushDue())
	must(s.mergeAll())
	must(s.Close())
	if found, _ := verifyMem(t, fs); len(found) > 0 {
		t.Errorf("%s: found is %q", place, found)
	}
	return broken
}
