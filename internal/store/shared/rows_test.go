package shared

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/andonhq/andon"
)

// paged gives rows in pages of random sizes, some of them empty, and then fails where it is to.
func paged(r *rand.Rand, rows []int64, failure error) *Rows[int64] {
	r = rand.New(rand.NewPCG(r.Uint64(), r.Uint64())) // pages are asked for side by side
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

// TestRandomInstants: rows of several queries come in one order, those of one time together, and
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
		for rows, err := range Merge(t.Context(), at, order, all...) {
			if err != nil {
				t.Fatal(err)
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

// TestRowsFail: a page that can't be read is an error, also after rows.
func TestRowsFail(t *testing.T) {
	broken := errors.New("broken")
	r := rand.New(rand.NewPCG(1, 1))
	all := []*Rows[int64]{paged(r, []int64{1, 2}, nil), paged(r, []int64{1}, broken)}
	at := func(row *int64) int64 { return *row }
	for _, err := range Merge(t.Context(), at, andon.Asc, all...) {
		if errors.Is(err, broken) {
			return
		}
	}
	t.Error("the rows came to an end without an error")
}

// TestGroups: rows that stand together and are alike come together, whatever the pages are.
func TestGroups(t *testing.T) {
	broken := errors.New("broken")
	own := func(row *int64) int64 { return *row }
	for _, c := range []struct {
		rows []int64
		err  error
		want [][]int64
	}{
		{nil, nil, nil},
		{[]int64{1}, nil, [][]int64{{1}}},
		{[]int64{1, 1, 2, 1}, nil, [][]int64{{1, 1}, {2}, {1}}},
		{[]int64{1, 2, 2}, broken, [][]int64{{1}}}, // the last group may not be whole
	} {
		pages := func(_ context.Context, state []byte) ([]int64, []byte, error) {
			if at := len(state); at < len(c.rows) {
				return c.rows[at : at+1], make([]byte, at+1), nil
			}
			return nil, nil, c.err
		}
		var got [][]int64
		var failed error
		for group, err := range Merge(t.Context(), own, andon.Asc, NewRows(pages)) {
			if failed = err; err == nil {
				got = append(got, group)
			}
		}
		if !reflect.DeepEqual(got, c.want) || !errors.Is(failed, c.err) {
			t.Errorf("%v: %v, %v, want %v, %v", c.rows, got, failed, c.want, c.err)
		}
	}
}
