package current

import (
	"errors"
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
// folded in random orders, and holds every step against the definition: with a history that keeps
// what is set aside, and with one that reads all records, as stores on DynamoDB do.
func TestEscalationsInAnyOrder(t *testing.T) {
	t.Run("set aside", func(t *testing.T) { escalateInAnyOrder(t, false) })
	t.Run("all records", func(t *testing.T) { escalateInAnyOrder(t, true) })
}

func escalateInAnyOrder(t *testing.T, all bool) {
	t.Helper()
	states := andon.DefaultStates()
	names := []andon.State{"NORMAL", "WARNING1", "WARNING2", "ODD"}
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 3))
		d := Device{ID: "d"}
		var records []Escalation
		p := &past{}
		most := 9 << (seed % 3) // of times: few of them crowd, many are far apart
		for range 1 + rng.IntN(8*most) {
			folded := p.folded
			if len(folded) == 0 || rng.IntN(2) == 0 {
				name := names[1+rng.IntN(len(names)-1)]
				if rng.IntN(3*most) == 0 {
					name = names[0]
				}
				e := entry(1+rng.IntN(most), name)
				if err := d.Apply(e, states, p); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if !slices.Contains(folded, e) {
					folded = append(folded, e)
					p.folded = folded
				}
			} else {
				of := folded[rng.IntN(len(folded))]
				r := Escalation{Entry: of.Time, State: of.State, At: andon.Time(1 + rng.IntN(most))}
				if rng.IntN(3) > 0 {
					r.To = andon.PersonID(fmt.Sprint("s", rng.IntN(3)))
				}
				if all {
					p.SetAside(r)
				}
				if err := d.Escalate(r, states, p); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				records = append(records, r)
			}
			if got, want := d.Escalated.To, tellEscalated(folded, records); got != want {
				t.Fatalf("seed %d: after %+v and %+v: %q, want %q",
					seed, folded, records, got, want)
			}
		}
	}
}

// TestEscalationsCostTheSame: however many entries of an incident were escalated before, one more
// is folded without asking history.
func TestEscalationsCostTheSame(t *testing.T) {
	states := andon.DefaultStates()
	d, p := Device{ID: "d"}, &past{}
	for n := 1; n <= 100_000; n++ {
		e := entry(n, "WARNING1")
		err := errors.Join(d.Apply(e, states, p), d.Escalate(Escalation{
			Entry: e.Time, State: e.State, At: e.Time, To: "Sara",
		}, states, p))
		if err != nil {
			t.Fatal(err)
		}
	}
	if p.asked != 0 {
		t.Errorf("history was asked %d times", p.asked)
	}
	if len(p.aside) != 100_000-1 {
		t.Errorf("%d records were set aside", len(p.aside))
	}
}

// TestEscalationsEndWithTheirIncident: after a return to normal nothing is known of escalations,
// nor that some were set aside. So the next incident never asks history for them.
func TestEscalationsEndWithTheirIncident(t *testing.T) {
	states := andon.DefaultStates()
	d, p := Device{ID: "d"}, &past{}
	report := func(at int) {
		t.Helper()
		e := entry(at, "WARNING1")
		err := errors.Join(d.Apply(e, states, p), d.Escalate(Escalation{
			Entry: e.Time, State: e.State, At: e.Time, To: "Sara",
		}, states, p))
		if err != nil {
			t.Fatal(err)
		}
	}
	report(1)
	report(2)
	if d.AsideAt == 0 || d.Escalated.At == 0 {
		t.Fatalf("nothing was set aside: %+v", d)
	}
	if err := d.Apply(entry(100, "NORMAL"), states, p); err != nil {
		t.Fatal(err)
	}
	if d.AsideAt != 0 || d.Escalated != (Escalation{}) {
		t.Errorf("after the incident it knows %+v, and of escalations up to %d", d.Escalated,
			d.AsideAt)
	}
	report(101)
	withdrawn := Escalation{Entry: 101, State: "WARNING1", At: 102}
	if err := d.Escalate(withdrawn, states, p); err != nil || p.asked != 0 {
		t.Errorf("%v; history was asked %d times", err, p.asked)
	}
}
