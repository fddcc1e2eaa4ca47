package pebblestore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// The tests here stop a store at one step of a flush, and look.

// heldLogs is a file system whose write-ahead logs can be kept from the disk.
type heldLogs struct {
	vfs.FS
	reached chan struct{} // a log is to be synced, and is held
	held    sync.RWMutex
}

// openHeld opens a new store whose logs can be held.
func openHeld(t *testing.T) (*Store, *heldLogs) {
	t.Helper()
	h := newHeldLogs(vfs.NewMem())
	s, err := Open("store", Options{FS: h})
	if err != nil {
		t.Fatal(err)
	}
	return s, h
}

func newHeldLogs(fs vfs.FS) *heldLogs {
	h := &heldLogs{reached: make(chan struct{}, 1)}
	h.FS = errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData
		if !sync || !strings.HasSuffix(op.Path, ".log") {
			return nil
		}
		if !h.held.TryRLock() {
			h.reached <- struct{}{}
			h.held.RLock()
		}
		h.held.RUnlock()
		return nil
	}))
	return h
}

// flushFS calls begins whenever a flush begins to write blocks.
type flushFS struct {
	vfs.FS
	begins func()
}

func (f *flushFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(f.PathBase(name), blocks.TablePrefix) {
		f.begins()
	}
	return f.FS.Create(name, c)
}

func (f *flushFS) Unwrap() vfs.FS { return f.FS }

// awaitIn waits until a goroutine is in a method of the store, where the test keeps it. It returns
// false where another thing happens before.
func awaitIn(t *testing.T, method string, another <-chan struct{}) bool {
	t.Helper()
	stacks := make([]byte, 4<<20)
	for begun := time.Now(); time.Since(begun) < time.Minute; runtime.Gosched() {
		if strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "pebblestore."+method) {
			return true
		}
		select {
		case <-another:
			return false
		default:
		}
	}
	t.Fatalf("no goroutine came into %s", method)
	return false
}

// pendingAppend sends entries that are in the log and not on the disk, until the log is released.
func pendingAppend(t *testing.T, s *Store, h *heldLogs, events []andon.Event) (done chan error) {
	t.Helper()
	done = make(chan error, 1)
	go func() { done <- s.Append(t.Context(), andon.DefaultTenant, 1, events) }()
	<-h.reached
	// The write is after the ordered section now.
	if err := s.ordered(t.Context(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	return done
}

// TestFlushWaitsForItsRows keeps the log from the disk: a flush makes no table of blocks while rows
// that they come from may still be lost.
func TestFlushWaitsForItsRows(t *testing.T) {
	h := newHeldLogs(vfs.NewMem())
	made := make(chan struct{}, 100)
	fs := &flushFS{h, func() { made <- struct{}{} }}
	s, err := Open("store", Options{FS: fs, table: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h.held.Lock()
	appended := pendingAppend(t, s, h, warnings(1))
	flush := make(chan error, 1)
	go func() { flush <- s.flushDue() }()
	if !awaitIn(t, "(*Store).sync(", made) || len(made) > 0 || len(flush) > 0 {
		t.Error("a flush wrote blocks of rows that are not on the disk yet")
	}
	h.held.Unlock()
	if err := errors.Join(<-appended, <-flush); err != nil {
		t.Error(err)
	}
	if len(made) == 0 {
		t.Error("the flush made no table")
	}
}

// TestSerialPowerCutAtEachStepOfAFlush cuts the power before each step that a flush takes on the
// disk, once with what was synced alone and once with all that was written: all rows have come
// back, or are blocks, and nothing else has. Blocks go through tables and through the log.
// Finishing writes the devices after it.
func TestSerialPowerCutAtEachStepOfAFlush(t *testing.T) {
	for _, table := range []int{1 << 9, blocks.DefaultTable} {
		t.Run(fmt.Sprintf("tables of %d bytes", table), func(t *testing.T) {
			for unsynced := range 2 {
				cutEachStep(t, table, 100*unsynced)
			}
		})
	}
}

func cutEachStep(t *testing.T, table, unsyncedPercent int) {
	t.Helper()
	mem := newCrashable()
	rng := rand.New(rand.NewPCG(uint64(table), 5))
	var mu sync.Mutex
	var cuts []*crashable
	on := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			cuts = append(cuts, mem.crash(vfs.CrashCloneCfg{
				UnsyncedDataPercent: unsyncedPercent, RNG: rng,
			}))
		}
		return nil
	})}
	s, err := Open("store", Options{ // the devices are left to finishing
		FS: errorfs.Wrap(mem, &on), table: table, lag: 1 << 40, unread: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	var certain []andon.Event
	for range 4 {
		events := randomEvents(rng)
		if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
			t.Fatal(err)
		}
		certain = append(certain, events...)
	}
	on.On()
	if err := errors.Join(s.flushDue(), s.Finish(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	on.Off()
	const enough = 2
	if len(cuts) < enough {
		t.Errorf("the flush took %d steps: too few to show anything", len(cuts))
	}
	for _, fs := range append(cuts, mem) {
		checkAfterCrash(t, fs, certain)
	}
}

// TestReadersReadMemtablesFirst has a flush write all entries and end when a reader is about to
// look at the memtables. One that had looked for blocks before would find the entries in neither.
func TestReadersReadMemtablesFirst(t *testing.T) {
	const id = andon.DefaultTenant
	e := andon.Event{
		Device: "d", Time: andon.MinTime, State: "ODD", Operator: "Liz", EscalatedTo: "Sara",
		Message: "m",
	}
	later := andon.Event{
		Device: "d", Time: e.Time + 1, State: "ODD", Operator: "Tom", Message: "m",
	}
	all := andon.EventQuery{Limit: 10, Span: andon.Span{To: e.Time}}
	for name, ask := range map[string]func(*Store) (n int, err error){
		"an entry": func(s *Store) (int, error) {
			_, err := s.Entry(t.Context(), id, e.Device, e.Time, e.State)
			return 1, err
		},
		"a device": func(s *Store) (int, error) {
			d, err := s.Device(t.Context(), id, e.Device)
			return len(d.Message), err
		},
		"entries of a device": func(s *Store) (int, error) {
			return howMany(s.DeviceEvents(t.Context(), id, e.Device, all))
		},
		"entries of an operator": func(s *Store) (int, error) {
			return howMany(s.OperatorEvents(t.Context(), id, e.Operator, all))
		},
		"entries of a supervisor": func(s *Store) (int, error) {
			return howMany(s.SupervisorEvents(t.Context(), id, e.EscalatedTo, all))
		},
		"escalated entries": func(s *Store) (int, error) {
			return howMany(s.EscalatedEntries(t.Context(), id, e.Device, all))
		},
		"operators": func(s *Store) (int, error) {
			q := andon.NameQuery{Of: andon.OperatorNames, Limit: 10}
			n, err := howMany(s.Names(t.Context(), id, q))
			return n - 1, err // Tom is named by what the device shows
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openMem(t, vfs.NewMem())
			defer s.Close()
			if err := s.Append(t.Context(), id, 1, []andon.Event{e, later}); err != nil {
				t.Fatal(err)
			}
			looking, looked := make(chan struct{}), make(chan struct{})
			s.log.Memory.Looking = sync.OnceFunc(func() {
				close(looking)
				<-looked
			})
			found := make(chan error, 1)
			go func() {
				n, err := ask(s)
				if err == nil && n != 1 {
					err = fmt.Errorf("%d were found", n)
				}
				found <- err
			}()
			<-looking
			err := s.writeBlocks(t.Context(), true)
			close(looked)
			if err := errors.Join(err, <-found); err != nil {
				t.Error(err)
			}
		})
	}
}

// howMany returns how many items there are up to the first error.
func howMany[T any](items func(func(T, error) bool)) (n int, err error) {
	for _, err := range items {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// TestLaterDeliveryWins sends an entry three times: in one memtable, in the other, and in blocks,
// the last one counts, in every list.
func TestLaterDeliveryWins(t *testing.T) {
	const id = andon.DefaultTenant
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	e := andon.Event{Device: "d", Time: andon.MinTime, State: "ODD"}
	send := func(n int) {
		t.Helper()
		e.Operator, e.Message = andon.PersonID(fmt.Sprint("person ", n)), fmt.Sprint("message ", n)
		neighbours := []andon.Event{{Device: "d", Time: e.Time - 1, State: "ODD"}, e}
		if err := s.Append(t.Context(), id, 1, neighbours); err != nil {
			t.Fatal(err)
		}
	}
	check := func(where string) {
		t.Helper()
		got, err := s.Entry(t.Context(), id, "d", e.Time, "ODD")
		if err != nil || got.Event != e {
			t.Errorf("%s: %+v, %v, want %+v", where, got.Event, err, e)
		}
		for _, order := range []andon.Order{andon.Asc, andon.Desc} {
			n, only := 0, andon.EventQuery{
				Order: order, Limit: 5, Span: andon.Span{From: e.Time, To: e.Time},
			}
			for got, err := range s.DeviceEvents(t.Context(), id, "d", only) {
				if n++; err != nil || got != e {
					t.Errorf("%s: listed %+v, %v, want %+v", where, got, err, e)
				}
			}
			if n != 1 {
				t.Errorf("%s: it is listed %d times", where, n)
			}
		}
		for person := range 8 {
			operator, want := andon.PersonID(fmt.Sprint("person ", person)), 0
			if operator == e.Operator {
				want = 1
			}
			all := andon.EventQuery{Limit: 5}
			n, err := howMany(s.OperatorEvents(t.Context(), id, operator, all))
			if err != nil || n != want {
				t.Errorf("%s: %s has %d entries, %v, want %d", where, operator, n, err, want)
			}
		}
	}
	for flush := range 2 {
		for n := range 2 {
			send(4*flush + n)
			check("one memtable")
		}
		if err := s.freezeNow(); err != nil {
			t.Fatal(err)
		}
		check("the frozen memtable")
		for n := range 2 {
			send(4*flush + 2 + n)
			check("the live memtable, and the frozen one")
		}
		for range 2 { // the memtable that is frozen, and then the other
			if err := s.flushDue(); err != nil {
				t.Fatal(err)
			}
			check("blocks")
		}
	}
}

// TestPendingDeviceIsWrittenAgain has a flush meet a device with a change that is not on the disk:
// it writes what the device shows, and the next flush has to write the change.
func TestPendingDeviceIsWrittenAgain(t *testing.T) {
	const id = andon.DefaultTenant
	mem := vfs.NewCrashableMem()
	h := newHeldLogs(mem)
	s, err := Open("store", Options{FS: h})
	if err != nil {
		t.Fatal(err)
	}
	event := andon.Event{Device: "d", Time: andon.MinTime, State: "NORMAL"}
	if err := s.Append(t.Context(), id, 1, []andon.Event{event}); err != nil {
		t.Fatal(err)
	}
	h.held.Lock()
	event.Time, event.State = event.Time+1, "WARNING1"
	appended := pendingAppend(t, s, h, []andon.Event{event})
	out := blocks.NewTables(s.env, blocks.EntryTables, nil, 0)
	err = errors.Join(s.devices.Write(t.Context(), s.everyFleet(), &out), out.End())
	h.held.Unlock()
	if err := errors.Join(err, <-appended, s.flushNow(t.Context())); err != nil {
		t.Fatal(err)
	}
	s, _ = crashed(t, s, mem)
	defer s.Close()
	d, err := s.Device(t.Context(), id, "d")
	if err != nil || d.State != event.State || d.Since != event.Time {
		t.Errorf("after a crash the device shows %+v, %v", d, err)
	}
}

// TestPurgeLeavesNothingInTheMemtable purges a device whose entries are in a memtable: no flush
// writes them as blocks, neither at once nor after a restart, because the next device gets its
// number then.
func TestPurgeLeavesNothingInTheMemtable(t *testing.T) {
	const id = andon.DefaultTenant
	for _, step := range []string{"a flush", "a crash"} {
		t.Run(step, func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			s := openMem(t, fs)
			send := func(device andon.DeviceID, at andon.Time) {
				t.Helper()
				e := []andon.Event{{Device: device, Time: at, State: "ODD", Operator: "Liz"}}
				if err := s.Append(t.Context(), id, 1, e); err != nil {
					t.Fatal(err)
				}
			}
			send("gone", andon.MinTime)
			send("gone", andon.MinTime+2*86_400_000_000)
			if err := s.Purge(t.Context(), id, "gone"); err != nil {
				t.Fatal(err)
			}
			if step == "a crash" {
				s, fs = crashed(t, s, fs)
			}
			if err := s.flushDue(); err != nil {
				t.Fatal(err)
			}
			for _, table := range []byte{layout.TableBlock, layout.TableDay,
				layout.TableCheckpoint} {
				for k := range s.rows(layout.NewKey(table, s.tenants[id].number)) {
					t.Errorf("table %c has a row %x of the device", table, k)
				}
			}
			s, _ = crashed(t, s, fs)
			defer s.Close()
			send("other", andon.MinTime+1)
			if number := s.tenants[id].fleet.Slot("other").Number(); number == 0 {
				t.Error("the other device has the number of the one that was purged, of which " +
					"there are rows")
			}
			arrived, err := s.Arrivals(t.Context(), id, andon.ArrivalQuery{Limit: 10})
			if len(arrived.Items) != 1 || err != nil {
				t.Errorf("what arrived is %+v, %v", arrived, err)
			}
			all := andon.EventQuery{Limit: 10}
			n, err := howMany(s.DeviceEvents(t.Context(), id, "other", all))
			if n != 1 || err != nil {
				t.Errorf("the other device has %d entries, %v", n, err)
			}
			n, err = howMany(s.OperatorEvents(t.Context(), id, "Liz", all))
			if n != 1 || err != nil {
				t.Errorf("the operator has %d entries, %v", n, err)
			}
		})
	}
}
