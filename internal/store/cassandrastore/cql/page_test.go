package cql

import (
	"math"
	"testing"
)

func TestPageOf(t *testing.T) {
	for _, one := range []struct{ limit, n, want int }{
		{1, 1, 16}, {10, 0, 20}, {1000, 16, 125}, {100_000, 16, PageRows},
		{math.MaxInt, 1, PageRows}, {math.MaxInt, 16, PageRows},
	} {
		if got := PageOf(one.limit, one.n); got != one.want {
			t.Errorf("%d of %d partitions: pages of %d, not %d", one.limit, one.n, got, one.want)
		}
	}
}
