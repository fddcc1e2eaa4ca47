package written

import (
	"fmt"
	"testing"
)

// remembered remembers a row, and reports whether it was to be written.
func remembered(r *Rows, n int) bool {
	sum := r.SumText(fmt.Sprint("row ", n))
	held := r.Holds(sum)
	r.Add(map[uint64]bool{sum: true})
	return !held
}

// TestRowsAreACache: a row that is remembered is not written again until all are forgotten, and of
// twice as many rows as there is space for, those that came last are mostly remembered.
func TestRowsAreACache(t *testing.T) {
	const rows = 1 << 16
	r := New(rows)
	if !remembered(r, 1) || remembered(r, 1) {
		t.Error("a row is to be written the first time, and not the second")
	}
	if r.Sum([]byte("row 1")) != r.SumText("row 1") {
		t.Error("a key as bytes and as a text are two rows")
	}
	if r.Forget(); !remembered(r, 1) {
		t.Error("a row that was forgotten is not written")
	}
	for n := range 2 * rows {
		remembered(r, n)
	}
	forgotten := 0
	for n := 2*rows - rows/8; n < 2*rows; n++ {
		if !r.Holds(r.SumText(fmt.Sprint("row ", n))) {
			forgotten++
		}
	}
	if forgotten > rows/8/5 {
		t.Errorf("of the newest %d rows %d are forgotten", rows/8, forgotten)
	}
}

// TestSerialRowsOfAFleet: of a fleet whose rows fit into half of the cache one in a hundred is
// written again at most, and of one whose rows fit into a quarter none to speak of.
func TestSerialRowsOfAFleet(t *testing.T) {
	const size = 1 << 20
	for _, test := range []struct{ rows, most int }{
		{size / 4, size / 4 / 10_000}, {size / 2, size / 2 / 100},
	} {
		r := New(size)
		again := 0
		for round := range 3 {
			for n := range test.rows {
				if remembered(r, n) && round > 0 {
					again++
				}
			}
		}
		if again/2 > test.most {
			t.Errorf("of %d rows %d are written again a pass", test.rows, again/2)
		}
	}
}
