package items

import (
	"math"
	"testing"

	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

func TestPageOf(t *testing.T) {
	for _, one := range []struct{ limit, n, want int }{
		{1, 1, 2}, {10, 0, 11}, {100, 1, 101}, {100, 16, 16}, {1000, 16, 125},
		{math.MaxInt, 1, ddb.MaxPage}, {math.MaxInt, 16, ddb.MaxPage},
	} {
		if got := PageOf(one.limit, one.n); got != one.want {
			t.Errorf("%d of %d queries: pages of %d, not %d", one.limit, one.n, got, one.want)
		}
	}
}
