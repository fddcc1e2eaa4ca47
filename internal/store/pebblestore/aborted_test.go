package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

// leaving is the context of a client that leaves once it was looked at so many times.
type leaving struct {
	context.Context
	looks int
}

func (l *leaving) Err() error {
	if l.looks--; l.looks < 0 {
		return context.Canceled
	}
	return nil
}

// warnings returns an entry of each of so many devices, from an operator.
func warnings(devices int) []andon.Event {
	events := make([]andon.Event, devices)
	for n := range events {
		events[n] = andon.Event{
			Device: andon.DeviceID(fmt.Sprintf("device-%06d", n)),
			Time:   andon.MinTime, State: "ODD", Operator: "Liz",
		}
	}
	return events
}

func openMem(t *testing.T, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open("store", Options{FS: fs, lag: 1}) // each flush writes the devices
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// crashed opens what the disk holds for certain once the power was cut.
func crashed(t *testing.T, s *Store, fs *vfs.MemFS) (*Store, *vfs.MemFS) {
	t.Helper()
	after := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return openMem(t, after), after
}

// TestAbortedAppend gives an append up at each of its looks at the context: nothing of it is left
// after, and what is acknowledged later is there after a crash, in every list.
func TestAbortedAppend(t *testing.T) {
	const id = andon.DefaultTenant
	for looks := range 100 {
		fs := vfs.NewCrashableMem()
		s := openMem(t, fs)
		events := warnings(2)
		err := s.Append(&leaving{t.Context(), looks}, id, 1, events)
		aborted := errors.Is(err, context.Canceled)
		if err != nil && !aborted {
			t.Fatal(err)
		}
		tenant := s.tenants[id]
		if aborted && (tenant.fleet.Len()+int(tenant.fleet.Numbers())+len(tenant.seen()) != 0) {
			t.Errorf("after %d looks there are places for %d devices, %d states",
				looks, tenant.fleet.Len(), len(tenant.seen()))
		}
		reading := andon.Reading{
			Device: events[0].Device, Time: andon.MinTime,
			Metrics: andon.Metrics{{Name: "t", Value: 1}},
		}
		if err := errors.Join(
			s.AppendReadings(t.Context(), id, 1, []andon.Reading{reading}), s.flushDue(),
			s.Append(t.Context(), id, 1, events),
		); err != nil {
			t.Fatal(err)
		}
		s, _ = crashed(t, s, fs)
		checkFound(t, s, events)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if !aborted {
			if looks < 3 {
				t.Errorf("the context was looked at %d times", looks)
			}
			return
		}
	}
	t.Error("the append never came through")
}

// checkFound looks for entries wherever they must be found.
func checkFound(t *testing.T, s *Store, events []andon.Event) {
	t.Helper()
	all := andon.EventQuery{Order: andon.Asc, Limit: len(events) + 1}
	var got []andon.Event
	for e, err := range s.OperatorEvents(t.Context(), andon.DefaultTenant, "Liz", all) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if diff := cmp.Diff(events, got); diff != "" {
		t.Errorf("the operator's entries: %s", diff)
	}
	for _, e := range events {
		if _, err := s.Device(t.Context(), andon.DefaultTenant, e.Device); err != nil {
			t.Error(err)
		}
		n := 0
		for _, err := range s.DeviceEvents(t.Context(), andon.DefaultTenant, e.Device, all) {
			if n++; err != nil {
				t.Error(err)
			}
		}
		if n != 1 {
			t.Errorf("%s has %d entries", e.Device, n)
		}
	}
}

// TestManyAbortedAppends: what many devices were named in and given up takes no memory, and the
// store opens again.
func TestManyAbortedAppends(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	events := warnings(20_000)
	const looks = 200 // at the context: one for each 64 devices that are folded
	for range 5 {
		if s.Append(&leaving{t.Context(), looks}, andon.DefaultTenant, 1, events) == nil {
			t.Fatal("the append was not given up")
		}
	}
	if n := s.tenants[andon.DefaultTenant].fleet.Len(); n != 0 {
		t.Errorf("there are places for %d devices", n)
	}
	last := []andon.Event{{Device: "one more", Time: andon.MinTime, State: "NORMAL"}}
	if err := s.Append(t.Context(), andon.DefaultTenant, 1, last); err != nil {
		t.Fatal(err)
	}
	s, _ = crashed(t, s, fs)
	defer s.Close()
	if n := s.tenants[andon.DefaultTenant].fleet.Numbers(); n != 1 {
		t.Errorf("the next device has number %d", n)
	}
}
