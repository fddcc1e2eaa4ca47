package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

const mergedDevices = 5

// inFlushes writes an entry of each device in each of some flushes, and sends each of the first
// again with another message in the last but one.
func inFlushes(t *testing.T, s *Store, flushes int) {
	t.Helper()
	for n := range flushes {
		var events []andon.Event
		for d := range mergedDevices {
			e := andon.Event{
				Device: andon.DeviceID(fmt.Sprint("d", d)), State: "NORMAL", Operator: "Liz",
				Time: andon.MinTime + andon.Time(n)*1e6, Message: fmt.Sprint("message ", n),
				Attributes: `{"line":"L3"}`,
			}
			events = append(events, e)
			if n == flushes-2 {
				e.Time, e.Message = andon.MinTime, "sent again"
				events = append(events, e)
			}
		}
		events = andon.SortBatch(events)
		err := s.Append(t.Context(), andon.DefaultTenant, 1, events)
		if err := errors.Join(err, s.flushDue()); err != nil {
			t.Fatal(err)
		}
	}
}

// blocks counts the blocks that there are.
func (s *Store) blocks(t *testing.T) (n int) {
	t.Helper()
	for range s.rows(layout.Key{layout.TableBlock}) {
		n++
	}
	return n
}

// allEntries returns all entries of the devices.
func allEntries(t *testing.T, s *Store) (all []andon.Event) {
	t.Helper()
	for d := range mergedDevices {
		device := andon.DeviceID(fmt.Sprint("d", d))
		for e, err := range s.DeviceEvents(
			context.Background(), andon.DefaultTenant, device, andon.EventQuery{Limit: 1000},
		) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
	}
	return all
}

// TestBlocksAreMerged: a device has one block of a day that was flushed many times, whose
// answers are those of before, and which is all that is read for them.
func TestBlocksAreMerged(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs)
	const flushes = blocks.MergeRuns - 1
	inFlushes(t, s, flushes)
	if err := s.log.Merge(); err != nil {
		t.Fatal(err)
	}
	if n := s.blocks(t); n != flushes*mergedDevices {
		t.Errorf("%d blocks: some were merged that are too few", n)
	}
	want := allEntries(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openMem(t, fs) // which runs there are is stored
	defer s.Close()
	later := andon.Event{
		Device: "d0", Time: andon.MinTime + flushes*1e6, State: "NORMAL", Message: "the last",
	}
	err := s.Append(t.Context(), andon.DefaultTenant, 1, []andon.Event{later})
	if err := errors.Join(err, s.flushDue(), s.log.Merge()); err != nil {
		t.Fatal(err)
	}
	want = append([]andon.Event{later}, want...)
	if n := s.blocks(t); n != mergedDevices {
		t.Errorf("%d blocks, want one of each device", n)
	}
	day := andon.MinTime.Day()
	runs := s.tenants[andon.DefaultTenant].entries.Runs.Load().On(day)
	if len(runs) != 1 || runs[0].Level != 1 ||
		runs[0].Oldest != andon.MinTime || runs[0].Newest != later.Time {
		t.Errorf("there are the runs %+v", runs)
	}
	if diff := gocmp.Diff(want, allEntries(t, s)); diff != "" {
		t.Error(diff)
	}
	steps := explained(t, func(ctx context.Context) (int, error) {
		return howMany(s.DeviceEvents(ctx, andon.DefaultTenant, "d1",
			andon.EventQuery{Limit: flushes}))
	}, flushes)
	atMost(t, steps, "table B", 2, 1)
	if err := s.db.Compact(t.Context(), layout.Key{layout.TableBlock},
		layout.Key{layout.TableBlock}.End(), false); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, allEntries(t, s)); diff != "" {
		t.Errorf("compacted: %s", diff)
	}
}

// TestReaderDuringAMerge: a reader that has begun sees what there was, and one that begins at any
// step of a merge sees all.
func TestReaderDuringAMerge(t *testing.T) {
	mem := vfs.NewMem()
	asked, steps := make(chan func(), 1), 0
	on := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			select {
			case ask := <-asked:
				steps++
				ask()
				asked <- ask
			default: // the query's own step
			}
		}
		return nil
	})}
	s, err := Open("store", Options{FS: errorfs.Wrap(mem, &on)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	inFlushes(t, s, blocks.MergeRuns-1)
	want := allEntries(t, s)
	r := s.reader(t.Context(), s.tenants[andon.DefaultTenant])
	defer r.Close()
	for _, err := range r.Device("d0", &andon.EventQuery{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	asked <- func() {
		if diff := gocmp.Diff(want, allEntries(t, s)); diff != "" {
			t.Error(diff)
		}
	}
	on.On()
	err = s.log.MergeAll()
	on.Off()
	<-asked // a flush may be asking
	if n := s.blocks(t); err != nil || n != mergedDevices || steps < 3 {
		t.Errorf("%d blocks after a merge of %d steps, %v", n, steps, err)
	}
	var all []andon.Event
	for d := range mergedDevices {
		q := andon.EventQuery{Limit: 1000}
		for h, err := range r.Device(andon.DeviceID(fmt.Sprint("d", d)), &q) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, h.Event)
		}
	}
	if diff := gocmp.Diff(want, all); diff != "" {
		t.Errorf("a reader that had begun: %s", diff)
	}
}

// TestReadersWhileAMergeEnds has readers open their iterators at any moment of a merge, those at
// which the engine takes the new run in among them.
func TestReadersWhileAMergeEnds(t *testing.T) {
	fs := newCrashable()
	s := openMem(t, fs)
	inFlushes(t, s, blocks.MergeRuns-1)
	want := allEntries(t, s)[:blocks.MergeRuns-1] // of the first device
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const merges = 60
	for range merges {
		s := openMem(t, fs.crash(vfs.CrashCloneCfg{}))
		var merged atomic.Bool
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				for more := true; more && !t.Failed(); {
					more = !merged.Load()
					got, err := seq.Collect(s.DeviceEvents(
						t.Context(), andon.DefaultTenant, "d0", andon.EventQuery{Limit: 1000}))
					if diff := gocmp.Diff(want, got); err != nil || diff != "" {
						t.Errorf("%v: %s", err, diff)
					}
				}
			})
		}
		err := s.mergeAll()
		merged.Store(true)
		readers.Wait()
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSerialPowerCutInAMerge has the power fail before each step that a merge takes on the disk.
func TestSerialPowerCutInAMerge(t *testing.T) {
	mem := newCrashable()
	rng := rand.New(rand.NewPCG(1, 5))
	var mu sync.Mutex
	var cuts []*crashable
	on := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			for unsynced := range 2 {
				cuts = append(cuts, mem.crash(vfs.CrashCloneCfg{
					UnsyncedDataPercent: 100 * unsynced, RNG: rng,
				}))
			}
		}
		return nil
	})}
	s, err := Open("store", Options{FS: errorfs.Wrap(mem, &on)})
	if err != nil {
		t.Fatal(err)
	}
	inFlushes(t, s, blocks.MergeRuns-1)
	want := allEntries(t, s)
	on.On()
	if err := s.mergeAll(); err != nil {
		t.Fatal(err)
	}
	on.Off()
	// The last step is not synced. A flush may be under way.
	mu.Lock()
	cuts = append(cuts, mem.crash(vfs.CrashCloneCfg{}))
	mu.Unlock()
	merged := s.blocks(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const unmerged = (blocks.MergeRuns - 1) * mergedDevices
	both := map[int]bool{}
	for _, fs := range append(cuts, mem) {
		s := openMem(t, fs)
		both[s.blocks(t)] = true
		if diff := gocmp.Diff(want, allEntries(t, s)); diff != "" {
			t.Error(diff)
		}
		err := s.log.Excise() // the run that no reader looks into, or those
		if n := s.blocks(t); err != nil || n != unmerged && n != mergedDevices {
			t.Errorf("%v; after that there are %d blocks", err, n)
		}
		closeWhole(t, s, fs)
	}
	// Between the last two the engine may have deleted some of the old runs and not yet others.
	if merged != mergedDevices ||
		!both[unmerged] || !both[unmerged+mergedDevices] || !both[mergedDevices] {
		t.Errorf("%d blocks were left, by power cuts %v: want those of before the merge, of after "+
			"it, and both", merged, both)
	}
}

// TestMergeLeavesWhatIsDeleted: what a merge has read comes not back when it is deleted meanwhile:
// a day that expires, a device that is purged.
func TestMergeLeavesWhatIsDeleted(t *testing.T) {
	for name, remove := range map[string]func(s *Store) error{
		"a day": func(s *Store) error {
			horizon := andon.Horizon{Events: andon.MinTime.Add(2 * 86_400_000_000)}
			return s.Expire(t.Context(), andon.DefaultTenant, horizon)
		},
		"a device": func(s *Store) error {
			return s.Purge(t.Context(), andon.DefaultTenant, "d1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			begun := func() {} // called once the merge makes its first table
			on := errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == errorfs.OpCreate && strings.Contains(op.Path, "merge") {
					do := begun
					begun = func() {}
					do()
				}
				return nil
			})
			s, err := Open("store", Options{FS: errorfs.Wrap(fs, on), table: 1})
			if err != nil {
				t.Fatal(err)
			}
			inFlushes(t, s, blocks.MergeRuns-1)
			var want []andon.Event
			blocks := 0
			begun = func() {
				if err := remove(s); err != nil {
					t.Fatal(err)
				}
				want, blocks = allEntries(t, s), s.blocks(t)
				if name == "a device" {
					blocks = mergedDevices - 1 // the merge goes on without it
				}
			}
			if err := s.mergeAll(); err != nil {
				t.Fatal(err)
			}
			if n := s.blocks(t); n != blocks {
				t.Errorf("%d blocks after the merge, want %d", n, blocks)
			}
			if diff := gocmp.Diff(want, allEntries(t, s)); diff != "" {
				t.Error(diff)
			}
			if err := s.mergeAll(); err != nil { // it is done again
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, allEntries(t, s)); diff != "" {
				t.Error(diff)
			}
			closeWhole(t, s, fs)
		})
	}
}

// TestRunThatLacksEntries: a run that has lost a block is not merged, so nothing else of the day is
// deleted, and verification counts what is gone.
func TestRunThatLacksEntries(t *testing.T) {
	fs, log := vfs.NewMem(), &strings.Builder{}
	s, err := Open("store", Options{
		FS: fs, lag: 1, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	inFlushes(t, s, blocks.MergeRuns-1)
	changeFrom(t, s, layout.Key{layout.TableBlock}, "")
	left := s.blocks(t)
	merged := s.mergeAll()
	if n := s.blocks(t); n != left {
		t.Errorf("%d blocks of %d are left by a merge", n, left)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// The merge in the background may have come first.
	if andon.KindOf(merged) != andon.Damaged && !strings.Contains(log.String(), "not merged") {
		t.Errorf("merging it returned %v, and the log has\n%s", merged, log)
	}
	found, _ := verifyMem(t, fs)
	lost := fmt.Sprintf("1 entries of the day that begins at %s are lost, of %d ",
		andon.DayStart(andon.MinTime.Day()), mergedDevices)
	if all := strings.Join(found, "\n"); !strings.Contains(all, lost) {
		t.Errorf("verification found %q, want %q", all, lost)
	}
}

// TestMergeAfterAPurge: runs are merged that a purge has taken a device out of, in the same
// process and after an opening.
func TestMergeAfterAPurge(t *testing.T) {
	for _, reopened := range []bool{false, true} {
		fs := vfs.NewMem()
		s := openMem(t, fs)
		inFlushes(t, s, blocks.MergeRuns-1)
		if err := s.Purge(t.Context(), andon.DefaultTenant, "d1"); err != nil {
			t.Fatal(err)
		}
		want := allEntries(t, s)
		if reopened {
			closeWhole(t, s, fs)
			s = openMem(t, fs)
		}
		if err := s.mergeAll(); err != nil {
			t.Errorf("reopened %v: %v", reopened, err)
		}
		if n := s.blocks(t); n != mergedDevices-1 {
			t.Errorf("reopened %v: %d blocks", reopened, n)
		}
		if diff := gocmp.Diff(want, allEntries(t, s)); diff != "" {
			t.Errorf("reopened %v: %s", reopened, diff)
		}
		closeWhole(t, s, fs)
	}
}
