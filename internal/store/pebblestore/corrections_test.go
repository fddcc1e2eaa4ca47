package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// TestCorrectionsOutliveCrashes withdraws an entry and purges a device, crashes at once, and again
// after a checkpoint: neither comes back, and a device of the same name starts again.
func TestCorrectionsOutliveCrashes(t *testing.T) {
	ctx, fs := t.Context(), vfs.NewCrashableMem()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	send := func(s *Store, device andon.DeviceID, at andon.Time, state andon.State) {
		t.Helper()
		events := []andon.Event{{Device: device, Time: at, State: state, Operator: "Liz"}}
		if err := s.Append(ctx, andon.DefaultTenant, at, events); err != nil {
			t.Fatal(err)
		}
	}
	const at = andon.MinTime
	send(s, "a", at, "NORMAL")
	send(s, "a", at+1, "WARNING1")
	send(s, "b", at, "WARNING1")
	if err := s.flushDue(); err != nil {
		t.Fatal(err)
	}
	w := andon.Withdrawal{Device: "a", Time: at + 1, State: "WARNING1", At: at + 5, By: "Tom"}
	if _, added, err := s.Withdraw(ctx, andon.DefaultTenant, w); err != nil || !added {
		t.Fatalf("added %v, error %v", added, err)
	}
	if err := s.Purge(ctx, andon.DefaultTenant, "b"); err != nil {
		t.Fatal(err)
	}
	if n := s.tenants[andon.DefaultTenant].fleet.Len(); n != 1 {
		t.Errorf("%d devices have a place", n)
	}
	check := func(s *Store) {
		t.Helper()
		d, err := s.Device(ctx, andon.DefaultTenant, "a")
		if err != nil || d.State != "NORMAL" || d.Since != at {
			t.Errorf("a shows %+v, error %v", d, err)
		}
		if e, err := s.Entry(ctx, andon.DefaultTenant, "a", at+1, "WARNING1"); err != nil ||
			e.Withdrawn == nil || *e.Withdrawn != w {
			t.Errorf("the entry is %+v, error %v", e, err)
		}
		if _, err := s.Device(ctx, andon.DefaultTenant, "b"); andon.KindOf(err) != andon.NotFound {
			t.Errorf("b: error %v", err)
		}
	}
	check(s)
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, clean := range []bool{false, true} {
		if s, err = Open("store", Options{FS: crashed}); err != nil {
			t.Fatal(err)
		}
		check(s)
		send(s, "a", at+1, "WARNING1")
		check(s)
		if clean {
			send(s, "b", at-1, "NORMAL")
			d, err := s.Device(ctx, andon.DefaultTenant, "b")
			if err != nil || d.Since != at-1 {
				t.Errorf("b shows %+v, error %v", d, err)
			}
		}
		if err := s.Close(); err != nil { // with a checkpoint
			t.Fatal(err)
		}
	}
}
