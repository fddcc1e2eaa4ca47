package pebblestore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
)

// TestASupervisorsEntriesInSteps: a supervisor has more entries than are looked for at once, some
// in blocks and some in memory, and every third was handed on to someone else. A list has the
// others, in both orders and in pages of any size.
func TestASupervisorsEntriesInSteps(t *testing.T) {
	const id, rounds, devices = andon.DefaultTenant, 3, 400
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	var want []string
	for round := range rounds {
		all := make([]andon.Event, devices)
		for i := range all {
			all[i] = andon.Event{
				Device: andon.DeviceID(fmt.Sprintf("d%03d", i*7%devices)), State: "WARNING1",
				Time:    andon.MinTime + andon.Time(round*devices+i),
				Message: fmt.Sprintf("round %d", round), EscalatedTo: "Sara",
			}
			if i%3 > 0 {
				want = append(want, fmt.Sprint(all[i].Device, all[i].Time, all[i].Message))
			}
		}
		must(t, s.Append(t.Context(), id, andon.MinTime, all))
		for i := 0; i < devices; i += 3 {
			_, _, err := s.Escalate(t.Context(), id, andon.Escalation{
				Device: all[i].Device, Time: all[i].Time, State: "WARNING1",
				At: andon.MinTime + devices*rounds, To: "Tom",
			})
			must(t, err)
		}
		if round < rounds-1 {
			must(t, s.flushDue())
		}
	}
	for _, order := range []andon.Order{andon.Asc, andon.Desc} {
		for _, limit := range []int{7, entries.Step, 1000} {
			q := andon.EventQuery{Order: order, Limit: limit}
			var got []string
			for more := true; more; {
				more = false
				for e, err := range s.SupervisorEvents(t.Context(), id, "Sara", q) {
					must(t, err)
					got = append(got, fmt.Sprint(e.Device, e.Time, e.Message))
					q.After, more = &andon.EventKey{
						Time: e.Time, Severity: s.tenants[id].states().Severity(e.State),
						State: e.State, Device: e.Device,
					}, true
				}
			}
			if order == andon.Desc {
				slices.Reverse(got)
			}
			if !slices.Equal(got, want) {
				t.Errorf("order %v, pages of %d: %d entries, want %d",
					order, limit, len(got), len(want))
			}
		}
	}
}

// TestRememberedEntries: an entry that was found in blocks is found again without them, until its
// device changes. What a reader finds that does not see all of memory is not remembered.
func TestRememberedEntries(t *testing.T) {
	const id = andon.DefaultTenant
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	deliver := func(message string) {
		t.Helper()
		must(t, s.Append(t.Context(), id, andon.MinTime, []andon.Event{{
			Device: "d", Time: andon.MinTime, State: "WARNING1", Message: message,
			EscalatedTo: "Sara",
		}}))
	}
	listed := func(ctx context.Context) (all []andon.Event) {
		t.Helper()
		for e, err := range s.SupervisorEvents(ctx, id, "Sara", andon.EventQuery{Limit: 9}) {
			must(t, err)
			all = append(all, e)
		}
		return all
	}
	// shows returns how many entries of blocks are read where it is asked again.
	shows := func(want string) (read int) {
		t.Helper()
		for range 2 {
			ctx, plan := andon.WithPlan(t.Context())
			d, err := s.Device(ctx, id, "d")
			must(t, err)
			all := listed(ctx)
			if d.Message != want || len(all) != 1 || all[0].Message != want {
				t.Errorf("it shows %q and %v, want %q", d.Message, all, want)
			}
			read = 0
			for _, step := range plan.Steps() {
				if strings.Contains(step.Statement, "entries within blocks") {
					read += step.Scanned
				}
			}
		}
		return read
	}
	deliver("one")
	must(t, s.flushDue())
	if n := shows("one"); n > 0 {
		t.Errorf("again %d entries of blocks were read", n)
	}
	before := s.reader(t.Context(), s.tenants[id])
	defer before.Close()
	must(t, s.freezeNow())
	deliver("two")
	if e, err := before.Event("d", andon.MinTime, "WARNING1"); err != nil || e.Message != "one" {
		t.Fatalf("a reader that began before has %v, %v", e, err)
	}
	shows("two")
	must(t, s.flushDue())
	must(t, s.flushDue())
	if n := shows("two"); n > 0 {
		t.Errorf("again %d entries of blocks were read", n)
	}
	_, _, err := s.Withdraw(t.Context(), id, andon.Withdrawal{
		Device: "d", Time: andon.MinTime, State: "WARNING1", At: andon.MinTime,
	})
	must(t, err)
	if all := listed(t.Context()); len(all) > 0 {
		t.Errorf("what was withdrawn is listed: %v", all)
	}
	must(t, s.Purge(t.Context(), id, "d"))
	deliver("three")
	must(t, s.flushDue())
	shows("three")
}
