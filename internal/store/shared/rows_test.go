package shared

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/andonhq/andon"
)

// paged gives rows in pages of random sizes, some of them empty, and then fails where it is to.
func paged(r *rand.Rand, rows []int64, failure error) *Rows[int64] {
	return NewRows(func(_ context.Context, state []byte) ([]int64, []byte, error) {
		from := len(state) - 1 // one byte for each row that was read, and one
		if state == nil {
			from = 0
		}
		n := r.IntN(min(4, len(rows)-from+1))
		if from+n < len(rows) {
			return rows[from : from+n], make([]byte, from+n+1), nil
		}
		return rows[from:], nil, failure
	})
}

// TestRandomInstants: rows of several questions come in one order, those of one time together, and
// whatever the pages are each comes once.
func TestRandomInstants(t *testing.T) {
	many(t, func(t *testing.T, r *rand.Rand) {
		order := pickOne(r, andon.Asc, andon.Desc)
		compare := func(a, b int64) int {
			if order == andon.Desc {
				a, b = b, a
			}
			return cmp.Compare(a, b)
		}
		var want []int64
		var all []*Rows[int64]
		for range r.IntN(4) {
			rows := make([]int64, r.IntN(8))
			for i := range rows {
				rows[i] = r.Int64N(6) - 1
			}
			slices.SortFunc(rows, compare)
			want = append(want, rows...)
			all = append(all, paged(r, rows, nil))
		}
		slices.SortFunc(want, compare)
		at := func(row *int64) int64 { return *row }
		for {
			rows, err := Instant(t.Context(), all, at, order)
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) == 0 {
				break
			}
			n := 1
			for n < len(want) && want[n] == want[0] {
				n++
			}
			if !slices.Equal(rows, want[:min(n, len(want))]) {
				t.Fatalf("got %v, want %d rows of %v", rows, n, want)
			}
			want = want[n:]
		}
		if len(want) > 0 {
			t.Errorf("%v are missing", want)
		}
	})
}

// TestRowsFail: a page that can't be read is an error, also behind rows.
func TestRowsFail(t *testing.T) {
	broken := errors.New("broken")
	r := rand.New(rand.NewPCG(1, 1))
	all := []*Rows[int64]{paged(r, []int64{1, 2}, nil), paged(r, []int64{1}, broken)}
	for range 3 {
		rows, err := Instant(t.Context(), all, func(row *int64) int64 { return *row }, andon.Asc)
		if errors.Is(err, broken) {
			return
		}
		if len(rows) == 0 {
			break
		}
	}
	t.Error("the rows came to an end without an error")
}
