package pebblestore

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// TestReorderAfterCrash stores a set under which devices show something else, and crashes before
// they follow it: at the next opening they do.
func TestReorderAfterCrash(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	const devices = 2*reorderStep + 3
	var events []andon.Event
	for i := range devices {
		id := andon.DeviceID(fmt.Sprintf("d%04d", i))
		events = append(events,
			andon.Event{Device: id, Time: andon.MinTime, State: "FAULT"},
			andon.Event{Device: id, Time: andon.MinTime + 1, State: "OK"})
	}
	ctx := t.Context()
	if err := s.Append(ctx, andon.DefaultTenant, 1, events); err != nil {
		t.Fatal(err)
	}
	record, err := s.Tenant(ctx, andon.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	record.States, err = andon.NewStateSet([]andon.StateDef{
		{Name: "OK"}, {Name: "FAULT", Severity: 80},
	})
	if err != nil {
		t.Fatal(err)
	}
	if record, err = s.PutTenant(ctx, record); err != nil || !record.Reordering {
		t.Fatalf("%+v, error %v", record, err)
	}
	if err := s.reorderSome(ctx, s.tenants[andon.DefaultTenant], 0); err != nil {
		t.Fatal(err)
	}
	if got := incidents(t, s); got != devices-reorderStep {
		t.Errorf("%d devices have an incident while it goes on", got)
	}
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = Open("store", Options{FS: crashed})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if got := incidents(t, s); got != 0 {
		t.Errorf("%d devices have an incident", got)
	}
	if record, err = s.Tenant(ctx, andon.DefaultTenant); err != nil || record.Reordering {
		t.Errorf("%+v, error %v", record, err)
	}
}

func incidents(t *testing.T, s *Store) (n int) {
	t.Helper()
	q := andon.DeviceQuery{Limit: 10_000}
	for d, err := range s.Devices(context.Background(), andon.DefaultTenant, q) {
		if err != nil {
			t.Fatal(err)
		}
		if d.IncidentSince != 0 {
			n++
		}
	}
	return n
}

// TestExpiredPartly has a late entry of an expired day stay in the memtable, while the newer ones
// of the day are given back: neither a change of severities nor a verification takes it for the
// newest.
func TestExpiredPartly(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	ctx, id := t.Context(), andon.DefaultTenant
	noon := andon.DayStart(100) + andon.Time(12*3600*1_000_000)
	send := func(at andon.Time, state andon.State) {
		t.Helper()
		e := []andon.Event{{Device: "d", Time: at, State: state}}
		if err := s.Append(ctx, id, 1, e); err != nil {
			t.Fatal(err)
		}
	}
	send(noon, "WARNING3")
	if err := s.flushDue(); err != nil {
		t.Fatal(err)
	}
	send(noon-1, "WARNING1")
	was, err := s.Device(ctx, id, "d")
	if err != nil {
		t.Fatal(err)
	}
	record, err := s.Tenant(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	record.Floor.Events = andon.DayStart(102)
	record.States, err = andon.NewStateSet(append(record.States.Defs(),
		andon.StateDef{Name: "WARNING5", Severity: 90}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutTenant(ctx, record); err != nil {
		t.Fatal(err)
	}
	if err := s.Expire(ctx, id, record.Floor); err != nil {
		t.Fatal(err)
	}
	if err := s.reorderSome(ctx, s.tenants[id], 0); err != nil {
		t.Fatal(err)
	}
	is, err := s.Device(ctx, id, "d")
	if err != nil || is.State != was.State || is.Since != was.Since {
		t.Errorf("it shows %+v, %v; before it expired %+v", is, err, was)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found, _ := verifyMem(t, fs); len(found) > 0 {
		t.Errorf("verify reports %q", found)
	}
}

// TestReorderThatNobodySees changes a severity so that only what came before the present run is in
// another order: no change is in the feed but that of the tenant, also of a device with several
// escalations.
func TestReorderThatNobodySees(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	ctx, id := t.Context(), andon.DefaultTenant
	start := andon.MinTime + 1000
	events := []andon.Event{
		{Device: "d", Time: start, State: "WARNING1"},
		{Device: "d", Time: start, State: "WARNING2"},
		{Device: "d", Time: start + 1, State: "WARNING4"},
		{Device: "d", Time: start + 2, State: "WARNING4"},
	}
	if err := s.Append(ctx, id, start, events); err != nil {
		t.Fatal(err)
	}
	for i, e := range events[2:] {
		_, _, err := s.Escalate(ctx, id, andon.Escalation{
			Device: "d", Time: e.Time, State: e.State, To: "Sara", At: start + andon.Time(10+i),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	record, err := s.Tenant(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	defs := slices.Clone(record.States.Defs())
	for i := range defs {
		if defs[i].Name == "WARNING1" {
			defs[i].Severity = 60 // above WARNING2
		}
	}
	if record.States, err = andon.NewStateSet(defs); err != nil {
		t.Fatal(err)
	}
	_, before := keptBy(t, s)
	if record, err = s.PutTenant(ctx, record); err != nil || !record.Reordering {
		t.Fatalf("%+v, %v", record, err)
	}
	if _, err := s.Reorder(ctx, id); err != nil {
		t.Fatal(err)
	}
	for c, err := range s.Changes(ctx, id, before) {
		if err != nil || c.Kind != andon.OfTenant {
			t.Errorf("a change of %q, %v", c.Device, err)
		}
	}
}
