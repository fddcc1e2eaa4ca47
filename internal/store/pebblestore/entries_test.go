package pebblestore

import (
	"fmt"
	"slices"
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
