package cassandrastore

import (
	"strconv"
	"testing"
)

// TestWrittenOfAFleet: of a fleet with 300,000 hints none is written again.
func TestWrittenOfAFleet(t *testing.T) {
	const hints = 300_000
	w := newWritten()
	again := 0
	for round := range 2 {
		for n := range hints {
			sum := w.sum("hints_by_operator", strconv.Itoa(n))
			if w.has(sum) {
				continue
			}
			if round > 0 {
				again++
			}
			w.add([]hint{{sum: sum}})
		}
	}
	if again > 0 {
		t.Errorf("of %d hints %d are written again", hints, again)
	}
}
