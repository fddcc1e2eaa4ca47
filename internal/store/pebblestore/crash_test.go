package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// TestCrash cuts the power while four writers append, and opens what the disk then holds: all that
// was on it for certain, and some of the rest. What was acknowledged must be there, and each device
// must show what its own history says. The race detector watches one of them.
func TestCrash(t *testing.T) { crash(t, 4) }

func TestSerialCrash(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { crash(t, seed) })
	}
}

func crash(t *testing.T, seed uint64) {
	fs := newCrashable()
	s, err := Open("store", Options{ // devices in each flush, or in none; no rows kept
		FS: fs, lag: []int64{1, 1 << 40}[seed%2], table: []int{1 << 8, 0}[seed/2%2],
		ArrivalsBytes: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	var acknowledged sync.Map // of andon.Event
	var writers sync.WaitGroup
	for w := range uint64(4) {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(seed, w))
			for range 60 {
				events := randomEvents(rng)
				err := s.Append(context.Background(), andon.DefaultTenant, 1, events)
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range events {
					acknowledged.Store(e, true)
				}
				if rng.IntN(20) == 0 {
					if err := s.flushDue(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(seed, 99))
	for range 5 {
		var certain []andon.Event
		acknowledged.Range(func(e, _ any) bool {
			certain = append(certain, e.(andon.Event))
			return true
		})
		after := fs.crash(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		checkAfterCrash(t, after, certain)
	}
	writers.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func randomEvents(rng *rand.Rand) []andon.Event {
	var events []andon.Event
	for range 1 + rng.IntN(20) {
		events = append(events, andon.Event{
			Device: andon.DeviceID(fmt.Sprint("d", rng.IntN(8))),
			Time:   andon.MinTime + andon.Time(rng.Int64N(3*86_400_000_000)),
			State:  []andon.State{"NORMAL", "WARNING1", "WARNING2", "ODD"}[rng.IntN(4)],
		})
	}
	return andon.SortBatch(events)
}

func checkAfterCrash(t *testing.T, fs vfs.FS, certain []andon.Event) {
	t.Helper()
	ctx, id := context.Background(), andon.DefaultTenant
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatalf("after the crash: %v", err)
	}
	defer s.Close()
	for _, e := range certain {
		if _, err := s.Entry(ctx, id, e.Device, e.Time, e.State); err != nil {
			t.Fatalf("acknowledged, and lost: %v", err)
		}
	}
	reference := memstore.New()
	for n := range 8 {
		device := andon.DeviceID(fmt.Sprint("d", n))
		var history []andon.Event
		all := andon.EventQuery{Order: andon.Asc, Limit: 1 << 20}
		for e, err := range s.DeviceEvents(ctx, id, device, all) {
			if err != nil {
				t.Fatal(err)
			}
			history = append(history, e)
		}
		if err := reference.Append(ctx, id, 1, history); err != nil {
			t.Fatal(err)
		}
		got, err := s.Device(ctx, id, device)
		want, wantErr := reference.Device(ctx, id, device)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (wantErr == nil) {
			t.Fatalf("device %s against its own history (%v, %v): %s", device, wantErr, err, diff)
		}
	}
}

func TestSecondProcessLearnsOfTheFirst(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{Owner: "serving http://127.0.0.1:8080"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, Options{Owner: "the second"})
	const owner = "http://127.0.0.1:8080"
	if andon.KindOf(err) != andon.Conflict || !strings.Contains(err.Error(), owner) {
		t.Errorf("second opening: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, Options{}); err != nil {
		t.Fatalf("opening after the first closed: %v", err)
	}
	_ = s.Close()
}

func TestNewerFormatIsRefused(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.db.Set(layout.FixedKey(fixedFormat), []byte{0, 0, 0, formatVersion + 1},
		nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open("store", Options{FS: fs})
	if andon.KindOf(err) != andon.Conflict ||
		!strings.Contains(err.Error(), fmt.Sprint("format ", formatVersion+1)) {
		t.Errorf("opening a newer format: %v", err)
	}
}

func TestFullDiskStopsWritesUntilThereIsSpace(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	write := func() error {
		s.dir.Disk.Refresh() // look again now
		return s.Append(context.Background(), andon.DefaultTenant, 1,
			[]andon.Event{{Device: "d", Time: andon.MinTime, State: "NORMAL"}})
	}
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 100 << 20, TotalBytes: 1 << 40})
	if err := write(); andon.KindOf(err) != andon.Full {
		t.Errorf("write on a full disk: %v", err)
	}
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 100 << 30, TotalBytes: 1 << 40})
	if err := write(); err != nil {
		t.Errorf("write once there is space: %v", err)
	}
}

func TestExpireGivesSpaceBack(t *testing.T) {
	s, err := Open("store", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, id := context.Background(), andon.DefaultTenant
	var events []andon.Event
	var readings []andon.Reading
	for day := range uint32(10) {
		at := andon.DayStart(100+day) + 5
		events = append(events, andon.Event{
			Device: "d", Time: at, State: "WARNING1", Operator: "Liz", EscalatedTo: "Sara",
		})
		readings = append(readings, andon.Reading{
			Device: "d", Time: at, Metrics: andon.Metrics{{Name: "t", Value: 1}},
		})
	}
	if err := s.Append(ctx, id, 1, events); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		s.AppendReadings(ctx, id, 1, readings), s.flushReadings(),
		s.AppendReadings(ctx, id, 1, readings), s.flushDue(),
	); err != nil {
		t.Fatal(err)
	}
	was, _ := s.Device(ctx, id, "d")
	h := andon.DayStart(107) + 7
	if err := s.Expire(ctx, id, andon.Horizon{Events: h, Readings: h}); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[byte]int{
		layout.TableBlock: 3, layout.TableRun: 3, layout.TableDay: 3, layout.TablePosting: 3,
		layout.TableSupervisor: 3,
		layout.TableEscalation: len(events), // of the present incident
		layout.TableReading:    3, layout.TableReadingBlock: 3, layout.TableReadingDay: 3,
	} {
		n := 0
		for range s.rows(layout.NewKey(table, s.tenants[id].number)) {
			n++
		}
		if n != want {
			t.Errorf("table %c has %d rows after expiry, want %d", table, n, want)
		}
	}
	is, err := s.Device(ctx, id, "d")
	if err != nil || is != was || is.Since != andon.DayStart(100)+5 {
		t.Errorf("the device shows %+v, %v; before it expired %+v", is, err, was)
	}
}
