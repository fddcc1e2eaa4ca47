package simulate

import (
	"math/rand/v2"

	"github.com/andonhq/andon"
)

// dice are numbers drawn by chance, the same ones for the same seed and stream.
type dice struct{ rand *rand.Rand }

func newDice(seed, stream uint64) dice { return dice{rand.New(rand.NewPCG(seed, stream))} }

// chance is true once in so many times, on average.
func (d dice) chance(oneIn int) bool { return d.rand.IntN(oneIn) == 0 }

// between returns a number from least to most, both included.
func (d dice) between(least, most int) int { return least + d.rand.IntN(most-least+1) }

// within returns a length of time shorter than all. It draws one number whatever the length is, so
// that a fleet with shorter rounds behaves alike.
func (d dice) within(all andon.Duration) andon.Duration {
	return andon.Duration(d.rand.Float64() * float64(all))
}

// noise returns a number around 0 with a standard deviation of so much.
func (d dice) noise(deviation float64) float64 { return d.rand.NormFloat64() * deviation }
