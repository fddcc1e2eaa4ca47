package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// openUnfinished opens a store with 8 devices that were deferred, and 16 entries in the memtable
// that change them.
func openUnfinished(t *testing.T, o Options) (*Store, []andon.Event) {
	t.Helper()
	o.lag, o.ArrivalsBytes = 1<<40, 1
	s, err := Open("store", o)
	if err != nil {
		t.Fatal(err)
	}
	var parts [3][]andon.Event
	for n := range 24 {
		parts[n/8] = append(parts[n/8], andon.Event{
			Device: andon.DeviceID(fmt.Sprint("d", n%8)), Time: andon.MinTime + andon.Time(n),
			State: []andon.State{"ODD", "NORMAL", "WARNING1"}[(n+n/8)%3], Operator: "Liz",
		})
	}
	const id = andon.DefaultTenant
	err = errors.Join(s.Append(t.Context(), id, 1, parts[0]), s.flushDue(),
		s.Append(t.Context(), id, 1, parts[1]), s.Append(t.Context(), id, 1, parts[2]))
	if err != nil || s.checkpoints.lag.Load() == 0 || s.log.Memory.Entries() != 16 {
		t.Fatal("nothing was left to finishing", err)
	}
	return s, slices.Concat(parts[:]...)
}

func TestFinishLeavesLittleToOpening(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s, events := openUnfinished(t, Options{FS: fs, unread: 1})
	if s.db.Metrics().WAL.Size == 0 {
		t.Fatal("there was no log")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // else a defect would have no end
	defer cancel()
	err := s.Finish(ctx)
	if n := s.db.Metrics().WAL.Size; n > 0 {
		t.Errorf("a log of %d bytes is to be replayed", n)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	s = openMem(t, fs)
	for range s.rows(layout.Key{layout.TableRow}) {
		t.Error("there is a row to be read")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	checkAfterCrash(t, fs, events)
}

// TestLittleIsNotFinished: a small fleet stops at once, and is read from its rows.
func TestLittleIsNotFinished(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s, events := openUnfinished(t, Options{FS: fs})
	marker, next := s.checkpoints.marker, s.pipe.Next
	if err := errors.Join(s.Finish(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	if s.checkpoints.marker != marker || s.pipe.Next != next {
		t.Errorf("there was a flush up to %v", s.checkpoints.marker)
	}
	checkAfterCrash(t, fs, events)
}

// endsAfter is a context that ends once it was asked so often whether it has.
type endsAfter struct {
	context.Context
	left int
}

// Err is of context.Context.
func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestFinishIsBrokenOff at each step: it says so, and nothing is lost, whether the power goes away
// then or the store is closed. Finishing again finishes.
func TestFinishIsBrokenOff(t *testing.T) {
	broken := 0
	for ; ; broken++ {
		fs := vfs.NewCrashableMem()
		s, events := openUnfinished(t, Options{FS: fs, unread: 1, table: 512})
		err := s.Finish(&endsAfter{t.Context(), broken})
		cut := fs.CrashClone(vfs.CrashCloneCfg{})
		if again := broken%2 == 0; again {
			if err := s.Finish(t.Context()); err != nil || s.unread() > 0 {
				t.Errorf("finishing again left %d bytes: %v", s.unread(), err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		checkAfterCrash(t, cut, events)
		checkAfterCrash(t, fs, events)
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if broken < 6 {
		t.Errorf("finishing could be broken off at %d steps, too few to show anything", broken)
	}
}
