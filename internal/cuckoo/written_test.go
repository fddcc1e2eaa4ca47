package cuckoo

import (
	"fmt"
	"testing"
)

// remembered remembers a row, and reports whether it was to be written.
func remembered(w *Written, n int) bool {
	sum := w.SumText(fmt.Sprint("row ", n))
	held := w.Holds(sum)
	w.Add(map[uint64]bool{sum: true})
	return !held
}

// TestWrittenIsACache: a row that is remembered is not written again until all are forgotten, and
// however many rows come, no more memory is taken.
func TestWrittenIsACache(t *testing.T) {
	const rows = 1 << 16
	w := NewWritten(rows)
	if !remembered(w, 1) || remembered(w, 1) {
		t.Error("a row is to be written the first time, and not the second")
	}
	if w.Sum([]byte("row 1")) != w.SumText("row 1") {
		t.Error("a key as bytes and as a text are two rows")
	}
	if w.Forget(); !remembered(w, 1) {
		t.Error("a row that was forgotten is not written")
	}
	for n := range 2 * rows {
		remembered(w, n)
	}
	if w.sums.Slots() != rows {
		t.Errorf("there is space for %d rows, more than %d", w.sums.Slots(), rows)
	}
}

// TestWrittenOfAFleet: a fleet whose rows fit into half of the cache writes none of them again.
func TestWrittenOfAFleet(t *testing.T) {
	const rows = 1 << 19
	w := NewWritten(2 * rows)
	again := 0
	for round := range 3 {
		for n := range rows {
			if remembered(w, n) && round > 0 {
				again++
			}
		}
	}
	if again > 0 {
		t.Errorf("of %d rows %d are written again a pass", rows, again/2)
	}
}
