package current

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

// told is what a device shows, worked out from all of its entries at once: the definition itself.
type told struct {
	Time, Since, Incident andon.Time
	State                 andon.State
	Operator              andon.PersonID
}

func tell(entries []Entry) told {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int { return a.key().Compare(b.key()) })
	newest := entries[len(entries)-1]
	t := told{Time: newest.Time, State: newest.State, Operator: newest.Operator}
	inRun, inIncident := true, true
	for _, e := range slices.Backward(entries) {
		if inRun = inRun && e.State == newest.State; inRun {
			t.Since = e.Time
		}
		if inIncident = inIncident && e.Severity > 0; inIncident {
			t.Incident = e.Time
		}
	}
	return t
}

func entry(at int, state andon.State) Entry {
	return Entry{
		Time: andon.Time(at), State: state, Severity: andon.DefaultStates().Severity(state),
		Operator: andon.PersonID(fmt.Sprint("op", at)),
	}
}

// past answers what folding asks of history, from what was folded before and set aside.
type past struct {
	folded []Entry
	aside  map[andon.EventKey]Escalation
	asked  int // for what was set aside
}

func (p *past) Next(after andon.EventKey) (andon.Time, error) {
	var next *andon.EventKey
	for _, e := range p.folded {
		if k := e.key(); k.Compare(after) > 0 && (next == nil || k.Compare(*next) < 0) {
			next = &k
		}
	}
	if next == nil {
		return 0, fmt.Errorf("nothing is after %+v", after)
	}
	return next.Time, nil
}

func (p *past) ForgetAside() { p.aside = nil }

func (p *past) SetAside(r Escalation) {
	if p.aside == nil {
		p.aside = map[andon.EventKey]Escalation{}
	}
	if there, ok := p.aside[keyOf(r)]; !ok || r.replaces(there) {
		p.aside[keyOf(r)] = r
	}
}

func (p *past) AsideOf(entry andon.Time, state andon.State) (Escalation, error) {
	p.asked++
	return p.aside[keyOf(Escalation{Entry: entry, State: state})], nil
}

func (p *past) Aside(from andon.Time) iter.Seq2[Escalation, error] {
	p.asked++
	return func(yield func(Escalation, error) bool) {
		for _, r := range p.aside {
			if r.Entry >= from && !yield(r, nil) {
				return
			}
		}
	}
}

// TestApplyInAnyOrder folds random histories, crowded into few instants, in random orders with
// redeliveries, and holds every step against the definition.
func TestApplyInAnyOrder(t *testing.T) {
	states := andon.DefaultStates()
	names := []andon.State{"NORMAL", "WARNING1", "WARNING2", "ODD"}
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d := Device{ID: "d"}
		var folded []Entry
		for range 1 + rng.IntN(14) {
			e := entry(1+rng.IntN(9), names[rng.IntN(len(names))])
			if len(folded) > 0 && rng.IntN(5) == 0 {
				e = folded[rng.IntN(len(folded))]
			}
			if err := d.Apply(e, states, &past{folded: folded}); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if !slices.Contains(folded, e) {
				folded = append(folded, e)
			}
			got := told{d.Time, d.Since, d.Incident, d.State, d.Operator}
			if diff := cmp.Diff(tell(folded), got); diff != "" {
				t.Fatalf("seed %d: after %+v: %s", seed, folded, diff)
			}
		}
	}
}

func TestRetiredDeviceBeginsAnew(t *testing.T) {
	states := andon.DefaultStates()
	d := Device{ID: "d"}
	apply := func(e Entry) {
		t.Helper()
		if err := d.Apply(e, states, &past{}); err != nil {
			t.Fatal(err)
		}
	}
	apply(entry(10, "WARNING1"))
	if at := d.Retire(5); at != 11 || d.Alive() {
		t.Fatalf("retired at %d, alive %v", at, d.Alive())
	}
	apply(entry(10, "WARNING1")) // redelivered
	apply(entry(11, "WARNING2")) // not after the retirement
	if d.Alive() {
		t.Fatal("an entry up to the retirement brought the device back")
	}
	liz := andon.Assignment{Operator: "Liz"}
	if err := d.Assign(&liz, 5); err != nil || liz.From != 12 {
		t.Errorf("assigned from %d, want just after the newest entry: %v", liz.From, err)
	}
	apply(entry(20, "WARNING1"))
	if !d.Alive() || d.Since != 20 || d.Incident != 20 {
		t.Errorf("back with since %d and incident %d, want both 20", d.Since, d.Incident)
	}
	apply(entry(11, "NORMAL"))
	apply(entry(15, "WARNING3"))
	if d.Since != 20 || d.Incident != 15 {
		t.Errorf("since %d and incident %d, want 20 and 15", d.Since, d.Incident)
	}
}

func BenchmarkApply(b *testing.B) {
	states := andon.DefaultStates()
	d := Device{ID: "d"}
	for n := 1; b.Loop(); n++ {
		e := Entry{Time: andon.Time(n), State: "NORMAL"}
		if n%20 == 0 {
			e.State, e.Severity = "WARNING2", 48
		}
		if err := d.Apply(e, states, nil); err != nil {
			b.Fatal(err)
		}
	}
}
