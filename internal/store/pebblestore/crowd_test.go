package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// TestACrowdOfWritesIsGathered: the log is written out at once where few writes come, and behind
// others that can run where many do.
func TestACrowdOfWritesIsGathered(t *testing.T) {
	gave := 0
	c := crowd{giveWay: func() { gave++ }}
	for i, step := range []struct{ writes, gave int }{
		{0, 0}, {enough - 1, 0}, {enough, 1}, {0, 1}, {3 * enough, 2}, {1, 2},
	} {
		for range step.writes {
			c.joined()
		}
		if c.gather(); gave != step.gave {
			t.Errorf("step %d: gave way %d times, want %d", i, gave, step.gave)
		}
	}
}

// TestEachWriteJoinsTheCrowd: the store counts its writes.
func TestEachWriteJoinsTheCrowd(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	before := s.synced.crowd.staged.Load()
	for i := range andon.Time(3) {
		events := []andon.Event{{Device: "a", Time: 1000 + i, State: "NORMAL"}}
		if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
			t.Fatal(err)
		}
	}
	staged := s.synced.crowd.staged.Load()
	if n := staged - before; n != 3 {
		t.Errorf("%d writes joined, want 3", n)
	}
	if flushed := s.synced.crowd.flushed.Load(); flushed != staged {
		t.Errorf("%d were gathered before their sync, want %d", flushed, staged)
	}
}
