package pebblestore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

const feedMinute = andon.Duration(60_000_000)

func openFed(t *testing.T, fs vfs.FS, o Options) *Store {
	t.Helper()
	o.FS = fs
	s, err := Open("store", o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// toggle sends the n-th entry of a device that is in another state each time, a minute apart.
func toggle(t *testing.T, s *Store, device andon.DeviceID, n int) {
	t.Helper()
	toggleOf(t, s, andon.DefaultTenant, device, n)
}

func toggleOf(t *testing.T, s *Store, id andon.TenantID, device andon.DeviceID, n int) {
	t.Helper()
	at := benchBase.Add(andon.Duration(n) * feedMinute)
	err := s.Append(t.Context(), id, at, []andon.Event{
		{Device: device, Time: at, State: andon.State(fmt.Sprint("S", n%2))},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func keptBy(t *testing.T, s *Store) (oldest, newest andon.Position) {
	t.Helper()
	oldest, newest, err := s.ChangesKept(t.Context(), andon.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	return oldest, newest
}

// readFrom returns how many changes are after a position.
func readFrom(t *testing.T, s *Store, at andon.Position) (n int, err error) {
	t.Helper()
	for _, err := range s.Changes(t.Context(), andon.DefaultTenant, at) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// TestFeedIsKept for so long and for so many bytes, by segments, also across openings.
func TestFeedIsKept(t *testing.T) {
	for name, o := range map[string]Options{
		"for an hour": {ChangesFor: time.Hour},
		"for 2400 B":  {ChangesBytes: 2400},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			s := openFed(t, fs, o)
			first, _ := keptBy(t, s)
			var positions []andon.Position
			for n := range 200 {
				if n == 100 {
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					s = openFed(t, fs, o)
				}
				toggle(t, s, "d", n)
				_, at := keptBy(t, s)
				positions = append(positions, at)
			}
			defer s.Close()
			if _, err := readFrom(t, s, first); andon.KindOf(err) != andon.Gone {
				t.Errorf("the oldest position gives %v, want that it is gone", err)
			}
			oldest, _ := keptBy(t, s)
			n, err := readFrom(t, s, oldest)
			if err != nil || n < 40 || n > 75 {
				t.Errorf("%d changes are kept, %v; want some 60", n, err)
			}
			for i, at := range positions {
				n, err := readFrom(t, s, at)
				gone := err != nil && andon.KindOf(err) == andon.Gone
				if want := at.Sequence < oldest.Sequence; gone != want || !gone && n != 199-i {
					t.Errorf("after change %d are %d, %v; gone should be %t", i, n, err, want)
				}
			}
			it, err := engine.NewIterator(t.Context(), s.db, layout.Key{layout.TableChange},
				layout.Key{layout.TableChange + 1})
			if err != nil {
				t.Fatal(err)
			}
			defer it.Release()
			if !it.First() || layout.SequenceOf(it.Key()) < oldest.Sequence {
				t.Error("what is not kept is on the disk")
			}
		})
	}
}

// TestGivingBackIsDoneAgain: changes that could not be given back stay, and go with the next ones.
func TestGivingBackIsDoneAgain(t *testing.T) {
	fails := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst") {
			return errorfs.ErrInjected
		}
		return nil
	})}
	s := openFed(t, errorfs.Wrap(vfs.NewMem(), &fails), Options{ChangesFor: time.Hour})
	defer s.Close()
	first, _ := keptBy(t, s)
	for n := range 200 {
		switch n {
		case 60:
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
			fails.On()
		case 100:
			fails.Off()
			if n, err := readFrom(t, s, first); n != 100 || err != nil {
				t.Errorf("%d changes could not be given back, %v; want all 100 to stay", n, err)
			}
		}
		toggle(t, s, "d", n)
	}
	oldest, _ := keptBy(t, s)
	rows := 0
	for k := range s.rows(
		layout.NewKey(layout.TableChange, s.tenants[andon.DefaultTenant].number)) {
		if rows++; layout.SequenceOf(k) < oldest.Sequence {
			t.Fatal("what is not kept is on the disk")
		}
	}
	if rows > 75 {
		t.Errorf("%d changes are kept", rows)
	}
}

// TestQuietTenantIsFollowed while the changes of another one fill the feed: who has read all that
// changed goes on, also where the next change of the quiet tenant is what gives the oldest back.
func TestQuietTenantIsFollowed(t *testing.T) {
	s := openFed(t, vfs.NewMem(), Options{ChangesFor: time.Hour})
	defer s.Close()
	if _, err := s.PutTenant(t.Context(), andon.NewTenant("other")); err != nil {
		t.Fatal(err)
	}
	first, _ := keptBy(t, s)
	toggle(t, s, "d", 0)
	at := first
	for c, err := range s.Changes(t.Context(), andon.DefaultTenant, first) {
		if at = c.Position; err != nil {
			t.Fatal(err)
		}
	}
	for n := range 200 {
		toggleOf(t, s, "other", "d", n)
	}
	toggle(t, s, "d", 9001)
	if oldest, _ := keptBy(t, s); oldest.Sequence <= at.Sequence {
		t.Fatalf("nothing after %+v was given back: the oldest is %+v", at, oldest)
	}
	if n, err := readFrom(t, s, at); n != 1 || err != nil {
		t.Errorf("after the last change that was read are %d, %v; want 1", n, err)
	}
	if _, err := readFrom(t, s, first); andon.KindOf(err) != andon.Gone {
		t.Errorf("the position before what was given back gives %v, want that it is gone", err)
	}
}

// TestFeedOutlivesAWrongClock: a change that arrives under a clock years ahead gives nothing back.
func TestFeedOutlivesAWrongClock(t *testing.T) {
	s := openFed(t, vfs.NewMem(), Options{ChangesFor: time.Hour})
	defer s.Close()
	_, at := keptBy(t, s)
	for n := range 30 {
		toggle(t, s, "d", n)
	}
	toggle(t, s, "e", 5*365*24*60)
	for n := range 20 {
		toggle(t, s, "d", 30+n)
	}
	if n, err := readFrom(t, s, at); n != 51 || err != nil {
		t.Errorf("%d changes are kept, %v; want all 51", n, err)
	}
}

// TestReaderOfALargeWriteWaits: the last records of the write have no changes. The reader, who has
// read those of the first, is not woken for what it would not find.
func TestReaderOfALargeWriteWaits(t *testing.T) {
	s := openFed(t, vfs.NewMem(), Options{})
	defer s.Close()
	_, at := keptBy(t, s)
	events := make([]andon.Event, 10_000)
	for n := range 2 { // the second time only the first device changes
		for i := range events {
			events[i] = andon.Event{
				Device: andon.DeviceID(fmt.Sprint("d", i)), State: "S0",
				Time: benchBase + andon.Time(n),
			}
		}
		if n == 1 {
			events[0].State = "S1"
		}
		if err := s.Append(t.Context(), andon.DefaultTenant, benchBase, events); err != nil {
			t.Fatal(err)
		}
	}
	for c, err := range s.Changes(t.Context(), andon.DefaultTenant, at) {
		if at = c.Position; err != nil {
			t.Fatal(err)
		}
	}
	if at.Sequence == s.pipe.Published() {
		t.Fatal("the write has one record only")
	}
	if next := s.tenants[andon.DefaultTenant].feed.Next(); next != at.Sequence {
		t.Errorf("readers are woken up to %d, after the last change at %d", next, at.Sequence)
	}
}

// TestSlowReaderIsGone: what it has not read is given back while it reads.
func TestSlowReaderIsGone(t *testing.T) {
	s := openFed(t, vfs.NewMem(), Options{ChangesFor: 10 * time.Hour})
	defer s.Close()
	_, at := keptBy(t, s)
	for n := range 600 {
		toggle(t, s, "d", n)
	}
	read, last := 0, error(nil)
	for _, err := range s.Changes(t.Context(), andon.DefaultTenant, at) {
		if last = err; err != nil {
			break
		}
		if read++; read == 1 {
			for n := range 2000 {
				toggle(t, s, "d", 600+n)
			}
		}
	}
	if andon.KindOf(last) != andon.Gone || last == nil || read >= 600 {
		t.Errorf("it read %d changes and ended with %v", read, last)
	}
}

// TestPositionOfAnotherCopy: a directory is set back to a copy and goes on from there; positions
// that were given in between are gone, although their sequences come again.
func TestPositionOfAnotherCopy(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openFed(t, fs, Options{})
	toggle(t, s, "d", 0)
	_, before := keptBy(t, s)
	again := fs.CrashClone(vfs.CrashCloneCfg{})
	toggle(t, s, "d", 1)
	toggle(t, s, "d", 2)
	_, between := keptBy(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openFed(t, again, Options{})
	defer s.Close()
	for n := range 9 {
		toggle(t, s, "e", n)
	}
	if n, err := readFrom(t, s, before); n != 9 || err != nil {
		t.Errorf("after the copy are %d changes, %v; want 9", n, err)
	}
	if n, err := readFrom(t, s, between); andon.KindOf(err) != andon.Gone || err == nil {
		t.Errorf("after what the copy never had are %d changes, %v", n, err)
	}
}
