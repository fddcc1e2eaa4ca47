package pebblestore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
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
			must(t, s.checkpoint())
		}
	}
	for _, order := range []andon.Order{andon.Asc, andon.Desc} {
		for _, limit := range []int{7, entriesStep, 1000} {
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

// TestEntriesShareTexts: what is kept of one text does not change with the next, and an answer of
// many takes few allocations.
func TestEntriesShareTexts(t *testing.T) {
	var r eventReader
	var got, want []string
	for i := range 1000 {
		text := fmt.Sprintf("%0*d", i%50, i)
		want = append(want, text)
		half := len(text) / 2
		got = append(got, r.keep([]byte(text[:half]), []byte(text[half:])))
	}
	if !slices.Equal(got, want) {
		t.Error("texts changed")
	}
	part := []byte("0123456789abcdef0123456789abcdef")
	few := testing.AllocsPerRun(10, func() {
		var r eventReader
		for range 100 {
			r.keep(part)
		}
	})
	if few > 10 {
		t.Errorf("100 texts take %v allocations", few)
	}
}

// TestAHeadIsReadWithinASpan: of sorted chains and of others.
func TestAHeadIsReadWithinASpan(t *testing.T) {
	h := eventlog.NewHead()
	for device, times := range [][]andon.Time{{1, 2, 3, 5}, {4, 1, 5, 2, 3}} {
		for _, at := range times {
			h.Add(1, uint32(device), eventlog.Entry{Time: at, State: "A"})
		}
		for _, span := range []andon.Span{{}, {From: 2}, {To: 3}, {From: 2, To: 3}, {From: 6}} {
			var got, want []andon.Time
			h.WalkIn(1, uint32(device), span, func(e eventlog.Entry) bool {
				got = append(got, e.Time)
				return true
			})
			for _, at := range slices.Backward(times) {
				if span.Holds(at) {
					want = append(want, at)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("device %d, %v: %v, want %v", device, span, got, want)
			}
		}
	}
}
