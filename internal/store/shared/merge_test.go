package shared

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// TestRandomMerges: ids of several queries come in one order, each once, whatever the pages are.
func TestRandomMerges(t *testing.T) {
	many(t, func(t *testing.T, r *rand.Rand) {
		var want []andon.DeviceID
		var all []*Rows[andon.DeviceID]
		for range r.IntN(4) {
			left := make([]andon.DeviceID, r.IntN(8))
			for i := range left {
				left[i] = pickOne[andon.DeviceID](r, "a1", "a2", "a3", "b1", "b2")
			}
			slices.Sort(left)
			want = append(want, left...)
			own := rand.New(rand.NewPCG(r.Uint64(), 0)) // first pages are read side by side
			all = append(all, NewRows(func(context.Context, []byte) (
				page []andon.DeviceID, next []byte, err error,
			) {
				n := own.IntN(len(left) + 1)
				page, left = left[:n], left[n:]
				return page, make([]byte, len(left)), nil
			}))
		}
		prefix := pickOne(r, "", "a")
		slices.Sort(want)
		want = slices.DeleteFunc(slices.Compact(want), func(id andon.DeviceID) bool {
			return !strings.HasPrefix(string(id), prefix)
		})
		got, err := seq.Collect(IDs(t.Context(), prefix, all...))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	})
}
