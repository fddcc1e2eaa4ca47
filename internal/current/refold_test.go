package current

import (
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/andonhq/andon"
)

// logOf returns entries as the log does, newest first.
func logOf(entries []Entry) iter.Seq2[Logged, error] {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b Entry) int { return b.key().Compare(a.key()) })
	sorted = slices.CompactFunc(sorted, func(a, b Entry) bool { return a.key() == b.key() })
	return func(yield func(Logged, error) bool) {
		for _, e := range sorted {
			if !yield(Logged{Entry: e}, nil) {
				return
			}
		}
	}
}

// randomly returns a device of a random history, and the entries of it that count.
func randomly(t *testing.T, rng *rand.Rand) (d Device, folded []Entry) {
	names := []andon.State{"NORMAL", "WARNING1", "WARNING2", "ODD"}
	d = Device{ID: "d"}
	for range 1 + rng.IntN(14) {
		e := entry(1+rng.IntN(9), names[rng.IntN(len(names))])
		if err := d.Apply(e, andon.DefaultStates(), &past{folded: folded}); err != nil {
			t.Fatal(err)
		}
		folded = append(folded, e)
	}
	return d, folded
}

func nothingGone(andon.EntryRef) bool { return false }

// TestRefoldWithout folds random histories again without some of their entries, and holds what
// comes out against the definition.
func TestRefoldWithout(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 4))
		d, folded := randomly(t, rng)
		without := map[andon.EntryRef]bool{}
		for range 1 + rng.IntN(4) {
			e := folded[rng.IntN(len(folded))]
			without[andon.EntryRef{Time: e.Time, State: e.State}] = true
		}
		gone := func(e andon.EntryRef) bool { return without[e] }
		if err := d.Refold(logOf(folded), andon.DefaultStates(), gone, &past{}); err != nil {
			t.Fatal(err)
		}
		left := slices.DeleteFunc(folded, func(e Entry) bool {
			return gone(andon.EntryRef{Time: e.Time, State: e.State})
		})
		if len(left) == 0 {
			if d.Alive() || d.Time != 0 {
				t.Errorf("seed %d: nothing is left, and it is %+v", seed, d)
			}
			continue
		}
		got := told{d.Time, d.Since, d.Incident, d.State, d.Operator}
		if diff := cmp.Diff(tell(left), got); diff != "" {
			t.Fatalf("seed %d, without %v of %+v (-want +got):\n%s", seed, without, folded, diff)
		}
	}
}

// TestRefoldOfWhatExpired folds histories again of which the older part is lost. Nothing is gone,
// so each device must come out as it was.
func TestRefoldOfWhatExpired(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 5))
		d, folded := randomly(t, rng)
		for i, e := range folded {
			r := Escalation{Entry: e.Time, State: e.State, At: andon.Time(20 + i), To: "Sara"}
			if err := d.Escalate(r, andon.DefaultStates(), &past{}); err != nil {
				t.Fatal(err)
			}
		}
		if d.AsideAt != 0 {
			continue // what was set aside is the store's
		}
		was, horizon := d, andon.Time(rng.IntN(12))
		kept := slices.DeleteFunc(slices.Clone(folded), func(e Entry) bool {
			return e.Time < horizon
		})
		log := func(yield func(Logged, error) bool) {
			for e := range logOf(kept) {
				if was.Escalated.isOf(e.Time, e.State) {
					e.Escalated = was.Escalated
				}
				if !yield(e, nil) {
					return
				}
			}
		}
		if err := d.Refold(log, andon.DefaultStates(), nothingGone, &past{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(was, d, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d, from %d on of %+v (-want +got):\n%s", seed, horizon, folded, diff)
		}
	}
}
