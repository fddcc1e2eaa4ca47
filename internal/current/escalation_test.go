package current

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/andonhq/andon"
)

// tellEscalated is to whom a device is escalated, worked out from all entries and records at once.
func tellEscalated(entries []Entry, records []Escalation) andon.PersonID {
	incident := tell(entries).Incident
	newest := map[andon.EventKey]Escalation{}
	for _, r := range records {
		k := keyOf(r)
		if was, ok := newest[k]; !ok || r.At > was.At || (r.At == was.At && r.To <= was.To) {
			newest[k] = r
		}
	}
	var best Escalation
	for k, r := range newest {
		inside := incident != 0 && k.Time >= incident && k.Severity > 0
		if inside && r.To != "" && (best.To == "" || r.newer(best, andon.DefaultStates())) {
			best = r
		}
	}
	return best.To
}

func keyOf(r Escalation) andon.EventKey {
	severity := andon.DefaultStates().Severity(r.State)
	return andon.EventKey{Time: r.Entry, Severity: severity, State: r.State}
}

// TestEscalationsInAnyOrder escalates and withdraws entries of random histories while they are
// folded in random orders, and holds every step against the definition.
func TestEscalationsInAnyOrder(t *testing.T) {
	states := andon.DefaultStates()
	names := []andon.State{"NORMAL", "WARNING1", "WARNING2", "ODD"}
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		d := Device{ID: "d"}
		var folded []Entry
		var records []Escalation
		for range 1 + rng.IntN(20) {
			if len(folded) == 0 || rng.IntN(2) == 0 {
				e := entry(1+rng.IntN(9), names[rng.IntN(len(names))])
				if err := d.Apply(e, states, among(folded)); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if !slices.Contains(folded, e) {
					folded = append(folded, e)
				}
			} else {
				of := folded[rng.IntN(len(folded))]
				r := Escalation{Entry: of.Time, State: of.State, At: andon.Time(1 + rng.IntN(9))}
				if rng.IntN(3) > 0 {
					r.To = andon.PersonID(fmt.Sprint("s", rng.IntN(3)))
				}
				d.Escalate(r, states)
				records = append(records, r)
			}
			if got, want := d.escalated(states).To, tellEscalated(folded, records); got != want {
				t.Fatalf("seed %d: after %+v and %+v: %q, want %q",
					seed, folded, records, got, want)
			}
		}
	}
}
