package pebblestore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// TestPageOfManyStates: the page of a device opens the blocks that it needs, and holds what it
// should, from the memtable and from blocks.
func TestPageOfManyStates(t *testing.T) {
	const states, each, begin = 300, 40, andon.Time(1_764_849_600_000_000) // midnight
	s, err := Open("store", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var events []andon.Event
	for i := range states * each {
		events = append(events, andon.Event{
			Device: "d", Time: begin + andon.Time(i)*1e6, // each state all day long
			State: andon.State(fmt.Sprintf("state %03d", i%states)),
		})
	}
	if err := s.Append(t.Context(), andon.DefaultTenant, begin, events); err != nil {
		t.Fatal(err)
	}
	read := func(limit int, order andon.Order) (keys int) {
		ctx, plan := andon.WithPlan(t.Context())
		n, q := 0, andon.EventQuery{Order: order, Limit: limit}
		for e, err := range s.DeviceEvents(ctx, andon.DefaultTenant, "d", q) {
			want := events[n]
			if order == andon.Desc {
				want = events[len(events)-1-n]
			}
			if err != nil || e != want {
				t.Fatalf("item %d is %v, %v, want %v", n, e, err, want)
			}
			n++
		}
		if n != limit {
			t.Errorf("limit %d, order %v: %d items", limit, order, n)
		}
		for _, step := range plan.Steps() {
			if strings.HasPrefix(step.Statement, "table B") {
				keys += step.Scanned
			}
		}
		return keys
	}
	for _, flushed := range []bool{false, true} {
		for _, limit := range []int{1, 20, 100, 1000} {
			if n := read(limit, andon.Desc); n > 3+limit/eventlog.MaxBlock {
				t.Errorf("flushed %v: the newest %d took %d keys", flushed, limit, n)
			}
			if n := read(limit, andon.Asc); n > 3+len(events)/eventlog.MaxBlock {
				t.Errorf("flushed %v: the oldest %d took %d keys", flushed, limit, n)
			}
		}
		if err := s.flushDue(); err != nil {
			t.Fatal(err)
		}
	}
}
