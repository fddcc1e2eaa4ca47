package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// The tests here each keep one rule that only a rare order of things would break.

// TestFailedFlushesLoseNothing: a memtable that a failed flush froze stays until another flush has
// written it, and what came since is not said to be flushed by that one.
func TestFailedFlushesLoseNothing(t *testing.T) {
	mem := vfs.NewCrashableMem()
	fails := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate {
			return errorfs.ErrInjected
		}
		return nil
	})}
	s, err := Open("store", Options{FS: errorfs.Wrap(mem, &fails), table: 1, lag: 1})
	if err != nil {
		t.Fatal(err)
	}
	events := warnings(30)
	all := 0
	send := func() {
		t.Helper()
		for i := range events {
			events[i].Time++
		}
		if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
			t.Fatal(err)
		}
		all++
	}
	check := func(when string) {
		t.Helper()
		for _, e := range events {
			n, err := howMany(s.DeviceEvents(t.Context(), andon.DefaultTenant, e.Device,
				andon.EventQuery{Limit: 99}))
			if n != all || err != nil {
				t.Fatalf("%s: %s has %d entries of %d, %v", when, e.Device, n, all, err)
			}
		}
	}
	for range 3 {
		send()
		fails.On()
		if s.flushDue() == nil {
			t.Fatal("the flush did not fail")
		}
		fails.Off()
		check("after a flush that failed")
	}
	send()
	if err := s.flushDue(); err != nil {
		t.Fatal(err)
	}
	check("after the flush that was done again")
	s, mem = crashed(t, s, mem)
	check("after a crash")
	if err := s.flushDue(); err != nil {
		t.Fatal(err)
	}
	check("after the next flush")
	closeWhole(t, s, mem)
}

// TestAllWithdrawalsAreKnown: each of several withdrawals from one device, in any order, hides its
// entry and no other of that instant, at once and after an opening.
func TestAllWithdrawalsAreKnown(t *testing.T) {
	const id = andon.DefaultTenant
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	var events []andon.Event
	for n := range andon.Time(6) {
		for _, state := range []andon.State{"ODD", "WARNING1"} {
			events = append(events, andon.Event{
				Device: "d", Time: andon.MinTime + n, State: state,
			})
		}
	}
	if err := s.Append(t.Context(), id, 1, events); err != nil {
		t.Fatal(err)
	}
	left := len(events)
	check := func(when string) {
		t.Helper()
		n, err := howMany(s.DeviceEvents(t.Context(), id, "d", andon.EventQuery{Limit: 99}))
		if n != left || err != nil {
			t.Errorf("%s: %d entries are shown, %v, want %d", when, n, err, left)
		}
	}
	for _, n := range []andon.Time{3, 1, 4, 0, 2} {
		_, added, err := s.Withdraw(t.Context(), id, andon.Withdrawal{
			Device: "d", Time: andon.MinTime + n, State: "ODD", At: 9,
		})
		if err != nil || !added {
			t.Fatal(added, err)
		}
		left--
		check("at once")
	}
	s, _ = crashed(t, s, fs)
	defer s.Close()
	check("after an opening")
}

// TestArrivalsWaitForTheDisk: entries that are in the log and not on the disk have not arrived.
func TestArrivalsWaitForTheDisk(t *testing.T) {
	s, h := openHeld(t)
	defer s.Close()
	h.held.Lock()
	appended := pendingAppend(t, s, h, warnings(1))
	part, err := s.Arrivals(t.Context(), andon.DefaultTenant, andon.ArrivalQuery{Limit: 9})
	if len(part.Items) != 0 || err != nil {
		t.Errorf("%d entries have arrived, %v", len(part.Items), err)
	}
	h.held.Unlock()
	if err := <-appended; err != nil {
		t.Fatal(err)
	}
	part, err = s.Arrivals(t.Context(), andon.DefaultTenant, andon.ArrivalQuery{Limit: 9})
	if len(part.Items) != 1 || err != nil {
		t.Errorf("%d entries have arrived, %v, want 1", len(part.Items), err)
	}
}

// TestTenantThatStaysPublishesNothing: where the record of a tenant is not changed after all, what
// is in the log and not on the disk is not shown.
func TestTenantThatStaysPublishesNothing(t *testing.T) {
	s, h := openHeld(t)
	defer s.Close()
	h.held.Lock()
	appended := pendingAppend(t, s, h, warnings(1))
	_, err := s.changeTenant(t.Context(), func() (andon.Tenant, *engine.Batch, error) {
		return andon.Tenant{}, nil, nil
	})
	_, shown := s.Device(t.Context(), andon.DefaultTenant, warnings(1)[0].Device)
	h.held.Unlock()
	if err := errors.Join(err, <-appended); err != nil || andon.KindOf(shown) != andon.NotFound {
		t.Errorf("the device is shown before it is on the disk: %v, %v", shown, err)
	}
}

// meanwhile makes a write to a device of a tenant, and has something else done while it is worked
// out for the first time. It returns how often it was worked out, and by which states at last.
func meanwhile(
	t *testing.T, s *Store, tenant *tenant, do func() error,
) (times int, states *andon.StateSet, err error) {
	t.Helper()
	err = s.change(t.Context(), tenant, andon.ByEntry, []andon.DeviceID{"new"}, 10,
		func(w *writing) {
			w.fold = func(_ int, d *current.Device) error {
				times++
				states = w.states
				d.Received = 5
				if times > 1 {
					return nil
				}
				done := make(chan error) // by another goroutine: this one holds locks
				go func() { done <- do() }()
				return <-done
			}
		})
	return times, states, err
}

// TestTenantIsDeletedMeanwhile: a write that was worked out before its tenant was deleted is
// refused.
func TestTenantIsDeletedMeanwhile(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	if _, err := s.PutTenant(t.Context(), andon.NewTenant("gone")); err != nil {
		t.Fatal(err)
	}
	tenant, next := s.tenants["gone"], uint64(0)
	_, _, err := meanwhile(t, s, tenant, func() error {
		err := s.DeleteTenant(t.Context(), "gone")
		next = s.pipe.Next
		return err
	})
	if andon.KindOf(err) != andon.NotFound || s.pipe.Next != next {
		t.Errorf("the write: %v, and the log went on from %d to %d", err, next, s.pipe.Next)
	}
}

// TestNewDeviceFollowsNewSeverities: a write that makes a device is worked out again where the
// severities changed before its turn.
func TestNewDeviceFollowsNewSeverities(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	tenant := s.tenants[andon.DefaultTenant]
	times, states, err := meanwhile(t, s, tenant, func() error {
		record, err := s.Tenant(t.Context(), andon.DefaultTenant)
		if err != nil {
			return err
		}
		record.States, err = andon.NewStateSet([]andon.StateDef{
			{Name: "NORMAL"}, {Name: "ODD", Severity: 7},
		})
		if err == nil {
			_, err = s.PutTenant(t.Context(), record)
		}
		return err
	})
	if err != nil || times != 2 || states.Severity("ODD") != 7 {
		t.Errorf("it was worked out %d times, %v, at last by the severity %d of ODD",
			times, err, states.Severity("ODD"))
	}
}

// TestExpiryWaitsForTheFlush: a flush that has begun may write blocks of days that expire, so they
// are deleted after it.
func TestExpiryWaitsForTheFlush(t *testing.T) {
	var s *Store
	expired, held := make(chan error, 1), false
	fs := &flushFS{vfs.NewMem(), func() {
		if held {
			return
		}
		held = true
		done := make(chan struct{})
		go func() {
			expired <- s.Expire(t.Context(), andon.DefaultTenant,
				andon.Horizon{Events: andon.MinTime.Add(9 * 86_400_000_000)})
			close(done)
		}()
		awaitIn(t, "(*Store).Expire(", done)
		select {
		case <-expired:
			t.Error("days expired while a flush wrote blocks")
			expired <- nil
		case <-time.After(50 * time.Millisecond): // the wait only lets a defect show
		}
	}}
	var err error
	if s, err = Open("store", Options{FS: fs, table: 1}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Append(t.Context(), andon.DefaultTenant, 1, warnings(20))
	if err := errors.Join(err, s.flushDue(), <-expired); err != nil || !held {
		t.Fatal(err, held)
	}
	if n := s.blocks(t); n != 0 {
		t.Errorf("%d blocks are left of days that expired", n)
	}
}

// TestOneDueRow: a record that becomes due at another time has one row among those that are due,
// and none once it is deleted.
func TestOneDueRow(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	r := andon.Record{Tenant: andon.DefaultTenant, Kind: "note", ID: "n", Data: "{}"}
	var err error
	for n := range andon.Time(3) {
		r.Due = 5 - n
		if r, err = s.PutRecord(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	rows := func() (n int) {
		for range s.rows(layout.Key{layout.TableDue}) {
			n++
		}
		return n
	}
	if n := rows(); n != 1 {
		t.Errorf("%d rows are due, want 1", n)
	}
	if err := s.DeleteRecord(t.Context(), r); err != nil || rows() != 0 {
		t.Errorf("%v; %d rows are due once the record is deleted", err, rows())
	}
}

// TestArrivalsGoByBytes: as many flushes go as are too many, the oldest first, and no more.
func TestArrivalsGoByBytes(t *testing.T) {
	const hour = 3_600_000_000
	s, err := Open("store", Options{FS: vfs.NewMem(), ArrivalsBytes: 3000, lag: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at := andon.MinTime
	for range 5 { // the first goes at once, because nothing says how long it took
		arrive(t, s, at, 10)
		at = at.Add(hour)
	}
	if n, err := arrived(t, s, nil); n != 20 || err != nil {
		t.Errorf("%d entries are kept, %v, want those of two flushes", n, err)
	}
}

// TestDueAsTheRecordIs: a record that is given another time while what is due is listed is not
// listed by the row of the former one.
func TestDueAsTheRecordIs(t *testing.T) {
	s := memory(t, vfs.NewMem())
	defer s.Close()
	var kept [3]andon.Record
	for n := range kept {
		var err error
		r := timer(fmt.Sprint(n), andon.MinTime+andon.Time(n))
		if kept[n], err = s.PutRecord(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	listed := ""
	for r, err := range s.DueRecords(t.Context(), "timer", andon.MinTime+5, 9) {
		if err == nil && listed == "" {
			kept[1].Due += 3
			_, err = s.PutRecord(t.Context(), kept[1])
		}
		if err != nil {
			t.Fatal(err)
		}
		listed += r.ID
	}
	if listed != "02" {
		t.Errorf("%s are due, want 0 and 2", listed)
	}
}

// TestIndexRowsAreWrittenOnce: of readings of a device that has sent its metrics before, on the
// same day, no index row is written again.
func TestIndexRowsAreWrittenOnce(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	name := andon.MetricName(strings.Repeat("m", andon.MaxIDBytes))
	send := func(at andon.Time) uint64 {
		t.Helper()
		before := s.db.Metrics().WAL.BytesIn
		err := s.AppendReadings(t.Context(), andon.DefaultTenant, 1, []andon.Reading{{
			Device: "d", Time: at, Metrics: andon.Metrics{{Name: name, Value: 1}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return s.db.Metrics().WAL.BytesIn - before
	}
	first, second := send(andon.MinTime), send(andon.MinTime+1)
	if second+uint64(len(name)) > first {
		t.Errorf("the first reading writes %d bytes, and the second %d", first, second)
	}
}

// TestDamagedRunIsReported: where a block of one of several runs of a day is damaged, each list
// that needs it says so, and none leaves its entry out.
func TestDamagedRunIsReported(t *testing.T) {
	const id, runs = andon.DefaultTenant, 3
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	for n := range andon.Time(runs) {
		err := s.Append(t.Context(), id, 1, []andon.Event{{
			Device: "d", Time: andon.MinTime + n, State: "ODD",
			Operator: "Liz", EscalatedTo: "Sara",
		}})
		if err := errors.Join(err, s.flushDue()); err != nil {
			t.Fatal(err)
		}
	}
	all := andon.EventQuery{Limit: 9}
	ask := map[string]func() (int, error){
		"the device": func() (int, error) {
			return howMany(s.DeviceEvents(t.Context(), id, "d", all))
		},
		"the operator": func() (int, error) {
			return howMany(s.OperatorEvents(t.Context(), id, "Liz", all))
		},
		"the supervisor": func() (int, error) {
			return howMany(s.SupervisorEvents(t.Context(), id, "Sara", all))
		},
		"all devices": func() (int, error) {
			return howMany(s.TenantEvents(t.Context(), id, all))
		},
	}
	blocks := map[string][]byte{}
	for k, value := range s.rows(layout.Key{layout.TableBlock}) {
		blocks[string(k)] = bytes.Clone(value)
	}
	for k, value := range blocks {
		k := append(layout.Key{layout.TableBlock}, k...)
		if err := s.db.Set(k, []byte{0xff}, nil); err != nil {
			t.Fatal(err)
		}
		s.forgetEntries(t)
		for of, list := range ask {
			if n, err := list(); andon.KindOf(err) != andon.Damaged {
				t.Errorf("of %s: %d entries, %v", of, n, err)
			}
		}
		if err := s.db.Set(k, value, nil); err != nil {
			t.Fatal(err)
		}
		for of, list := range ask {
			if n, err := list(); n != runs || err != nil {
				t.Errorf("of %s without damage: %d entries, %v", of, n, err)
			}
		}
	}
	if len(blocks) != runs {
		t.Errorf("there are %d blocks", len(blocks))
	}
}
