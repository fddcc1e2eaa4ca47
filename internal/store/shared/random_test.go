package shared

import (
	"math/rand/v2"
	"testing"
)

// many calls check with one random source after another, and names that of a failure.
func many(t *testing.T, check func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	for range 5000 {
		seed := rand.Uint64()
		check(t, rand.New(rand.NewPCG(seed, 0)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func pickOne[T any](r *rand.Rand, items ...T) T { return items[r.IntN(len(items))] }
