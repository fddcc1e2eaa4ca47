package cuckoo

import (
	"math/rand/v2"
	"testing"
)

// hashes returns so many of a seed.
func hashes(n int, seed uint64) []uint64 {
	random := rand.New(rand.NewPCG(seed, 0))
	all := make([]uint64, n)
	for i := range all {
		all[i] = random.Uint64()
	}
	return all
}

// TestForgets measures what a fleet forgets that does the same again and again: nothing
// while three of four slots are taken, and not everything where there are too few.
func TestForgets(t *testing.T) {
	for _, test := range []struct{ slots, hashes, most int }{
		{1 << 21, 50_000, 0}, {1 << 21, 300_000, 0}, {1 << 21, 1_200_000, 0},
		{1 << 21, 1 << 21 / 4 * 3, 10},
		{1 << 16, 1 << 17, 1 << 17 / 20 * 19}, // twice as many as there is space for
	} {
		s := New(test.slots)
		all := hashes(test.hashes, uint64(test.hashes))
		for _, sum := range all {
			s.Add(sum)
		}
		const rounds = 3
		forgotten := 0
		for range rounds {
			for _, sum := range all {
				if s.Add(sum) {
					forgotten++
				}
			}
		}
		t.Logf("of %d hashes in %d slots %d are forgotten a round", test.hashes, test.slots,
			forgotten/rounds)
		if forgotten > test.most*rounds {
			t.Errorf("of %d hashes in %d slots %d are forgotten a round, want at most %d",
				test.hashes, test.slots, forgotten/rounds, test.most)
		}
	}
}

// TestSet: what was added is there, what was not is not, and nothing after Clear.
func TestSet(t *testing.T) {
	s := New(1 << 10)
	added, others := hashes(700, 1), hashes(700, 2)
	for _, sum := range added {
		if !s.Add(sum) {
			t.Fatal("a hash is there before it is added")
		}
	}
	for i := range added {
		if !s.Contains(added[i]) || s.Add(added[i]) {
			t.Errorf("hash %d is not remembered", i)
		}
		if s.Contains(others[i]) {
			t.Errorf("hash %d was never added", i)
		}
	}
	s.Clear()
	for _, sum := range added {
		if s.Contains(sum) {
			t.Fatal("a hash is there after Clear")
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	for name, n := range map[string]int{"space": 1 << 19, "full": 1 << 22} {
		b.Run(name, func(b *testing.B) {
			s, all := New(1<<20), hashes(n, 3)
			for i := 0; b.Loop(); i++ {
				s.Add(all[i%len(all)])
			}
		})
	}
}
