package entries

import (
	"slices"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// TestAMemtableIsReadWithinASpan: of chains that are sorted, also by late entries, and of one that
// two states at one instant keep from it, which is read from the last added on.
func TestAMemtableIsReadWithinASpan(t *testing.T) {
	h := eventlog.NewMemtable()
	for device, times := range [][]andon.Time{{1, 2, 3, 5}, {4, 1, 5, 2, 3}, {4, 4, 1, 5, 2, 3}} {
		for i, at := range times {
			state := []andon.State{"A", "B"}[i%2]
			h.Add(1, uint32(device), eventlog.Entry{Time: at, State: state})
		}
		if h.Sorted(1, uint32(device)) {
			slices.Sort(times)
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
