package pebblestore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// TestCheckpointOfWhatWasChanged has most devices change, one be purged and some stay as they were:
// the flush writes those that were changed, and the others are as they were written before.
func TestCheckpointOfWhatWasChanged(t *testing.T) {
	const id, devices, changed, purged = andon.DefaultTenant, 8, 5, 7
	fs := vfs.NewCrashableMem()
	s, err := Open("store", Options{FS: fs, lag: 1, table: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	name := func(n int) andon.DeviceID { return andon.DeviceID(fmt.Sprintf("d%d", n)) }
	report := func(some int, state andon.State) {
		t.Helper()
		for n := range some {
			e := []andon.Event{{Device: name(n), Time: andon.MinTime + 1, State: state}}
			if err := s.Append(t.Context(), id, 1, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	report(devices, "NORMAL")
	err = s.flushDue()
	report(changed, "WARNING1")
	if err := errors.Join(err, s.Purge(t.Context(), id, name(purged)), s.flushDue()); err != nil {
		t.Fatal(err)
	}
	s, _ = crashed(t, s, fs)
	defer s.Close()
	rows := 0
	for range s.rows(layout.NewKey(layout.TableCheckpoint, s.tenants[id].number)) {
		rows++
	}
	if rows != devices-1 {
		t.Errorf("the checkpoint has %d devices, want %d", rows, devices-1)
	}
	for n := range devices {
		want := andon.State("NORMAL")
		if n < changed {
			want = "WARNING1"
		}
		d, err := s.Device(t.Context(), id, name(n))
		if gone := andon.KindOf(err) == andon.NotFound; gone != (n == purged) ||
			!gone && d.State != want {
			t.Errorf("after a crash %s shows %q, %v", name(n), d.State, err)
		}
	}
}
