package pebblestore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
)

// TestMemtablesAreBoundedWhateverRuns: while something keeps flushes from running, as a sweep or a
// purge does, or a flush from ending, writers wait once the memtables are full, and are asked to
// come back. Then they go on.
func TestMemtablesAreBoundedWhateverRuns(t *testing.T) {
	for _, begun := range []bool{false, true} {
		name := fmt.Sprint("a flush has begun ", begun)
		t.Run(name, func(t *testing.T) { fillMemtables(t, begun) })
	}
}

func fillMemtables(t *testing.T, begun bool) {
	t.Helper()
	const most = 1 << 20
	s, err := Open("store", Options{FS: vfs.NewMem(), Memory: most, maxWait: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	write := func() error {
		var events []andon.Event
		for d := range 200 {
			events = append(events, andon.Event{
				Device: andon.DeviceID(fmt.Sprintf("d%03d", d)), State: "S",
				Time:     andon.MinTime + andon.Time(n),
				Operator: andon.PersonID(fmt.Sprint("p", n, d)),
			})
		}
		n++
		return s.Append(t.Context(), andon.DefaultTenant, 1, events)
	}
	_ = s.log.Flush(func(f entries.Flush) error {
		for err = write(); err == nil && s.log.Memory.Bytes() < 8*most; {
			if begun && s.log.Memory.Bytes() >= most/2 {
				f.Freeze(s.pipe.Next, s.checkpoints.grown.Load())
			}
			err = write()
		}
		if bytes := s.log.Memory.Bytes(); andon.KindOf(err) != andon.Busy || bytes > most*5/4 {
			t.Errorf("the memtables have %d bytes of %d, %v", bytes, most, err)
		}
		return nil
	})
	for err = write(); andon.KindOf(err) == andon.Busy; { // it may wait for the flush
		err = write()
	}
	if err != nil {
		t.Error(err)
	}
}

// TestMemtableSetting: a memtable whose texts could not be pointed into is refused.
func TestMemtableSetting(t *testing.T) {
	for bytes, refused := range map[int64]bool{
		entries.LeastMemory - 1: true, entries.LeastMemory: false, entries.MostMemory: false,
		entries.MostMemory + 1: true,
	} {
		o := Options{Memory: bytes}
		if err := o.memoryFits(); (err != nil) != refused {
			t.Errorf("a memtable of %d bytes: %v", bytes, err)
		}
	}
}

// TestRepeatedFlushCountsItsRows: a flush that is done again has flushed the rows that it froze,
// and not those that came since.
func TestRepeatedFlushCountsItsRows(t *testing.T) {
	fails := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate {
			return errorfs.ErrInjected
		}
		return nil
	})}
	s, err := Open("store", Options{FS: errorfs.Wrap(vfs.NewMem(), &fails), table: 1, lag: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	events := warnings(50)
	if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
		t.Fatal(err)
	}
	fails.On()
	if s.flushDue() == nil {
		t.Fatal("the flush did not fail")
	}
	fails.Off()
	first := s.checkpoints.grown.Load()
	for i := range events {
		events[i].Time++
	}
	err = s.Append(t.Context(), andon.DefaultTenant, 1, events)
	second := s.checkpoints.grown.Load() - first
	if err := errors.Join(err, s.flushDue()); err != nil {
		t.Fatal(err)
	}
	grown, lag := s.checkpoints.grown.Load(), s.checkpoints.lag.Load()
	if grown != second || lag != first || second == 0 {
		t.Errorf("%d bytes of rows are not flushed, and %d are: want %d and %d",
			grown, lag, second, first)
	}
}

// TestArrivalsOutliveACrash: rows of a while that were in no flush when the program was killed are
// kept in their order for as long as others.
func TestArrivalsOutliveACrash(t *testing.T) {
	const id, minute = andon.DefaultTenant, andon.Time(60_000_000)
	fs := newCrashable()
	options := func(fs vfs.FS) Options {
		return Options{FS: fs, ArrivalsBytes: 40 << 10, ArrivalsFor: time.Hour}
	}
	s, err := Open("store", options(fs))
	if err != nil {
		t.Fatal(err)
	}
	write := func(n andon.Time) {
		t.Helper()
		events := warnings(20)
		for i := range events {
			events[i].Time += n
		}
		if err := s.Append(t.Context(), id, 1+n*minute, events); err != nil {
			t.Fatal(err)
		}
	}
	arrived := func(after *andon.Position) (n int, next andon.Position) {
		t.Helper()
		part, err := s.Arrivals(t.Context(), id, andon.ArrivalQuery{After: after, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return len(part.Items), part.Next
	}
	write(0)
	_, position := arrived(nil)
	for n := andon.Time(1); n < 20; n++ { // of twenty minutes: no more than is kept
		write(n)
	}
	after := fs.crash(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open("store", options(after)); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	write(20)
	if err := s.flushDue(); err != nil {
		t.Fatal(err)
	}
	if n, _ := arrived(&position); n != 20*20 {
		t.Errorf("%d entries came since a position of twenty minutes ago, want 400", n)
	}
}
