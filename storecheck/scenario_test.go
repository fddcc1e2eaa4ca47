package storecheck

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
)

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Checks() {
		if seen[c.String()] {
			t.Errorf("two checks are named %q", c)
		}
		seen[c.String()] = true
	}
}

// TestFew: those that are run on a store in use are checks that there are, one of each section.
func TestFew(t *testing.T) {
	sections := map[string]bool{}
	for _, c := range Few() {
		sections[c.Section] = true
	}
	if n := len(Few()); n != 9 || len(sections) != n {
		t.Errorf("%d checks of %d sections", n, len(sections))
	}
}

// TestEverySection fails when a semantic of docs/semantics.md §2, or §3, has no check.
func TestEverySection(t *testing.T) {
	sections := []string{"3"}
	for _, n := range strings.Fields("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16") {
		sections = append(sections, "2."+n)
	}
	for _, s := range sections {
		if !slices.ContainsFunc(Checks(), func(c Check) bool { return c.Section == s }) {
			t.Errorf("section %s has no check", s)
		}
	}
}

func TestStrangeIDsAreValid(t *testing.T) {
	for _, id := range StrangeIDs() {
		if err := andon.DeviceID(id).Validate(); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// TestRunLeavesNothing: a user's cluster has the same tenants before and after.
func TestRunLeavesNothing(t *testing.T) {
	store := memstore.New()
	ran := 0
	err := Run(t.Context(), store, Checks(), func(r Result) {
		ran++
		if r.Err != nil {
			t.Errorf("%s: %v", r.Check, r.Err)
		}
	})
	if err != nil || ran != len(Checks()) {
		t.Errorf("ran %d of %d checks: %v", ran, len(Checks()), err)
	}
	left, err := store.Tenants(t.Context())
	if err != nil || len(left) != 1 || left[0].ID != andon.DefaultTenant {
		t.Errorf("tenants left: %+v, %v", left, err)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"\nat 5m d1", "line 2: at 5m d1: a state is missing"},
		{"at 5x d1 NORMAL", "line 1: at 5x d1 NORMAL: duration"},
		{"at 5m d1 NORMAL who=Liz", `"who=Liz" is none of op=`},
		{"and 5m d1 NORMAL", `there is no statement "and"`},
		{"at 5m d1 NORMAL msg='a", "a quote is not closed"},
		{"jump", `there is no statement "jump"`},
		{"now", "a time is missing"},
		{"now 5m d2 d3", `"d2 d3" is too much`},
		{"escalate d1 NORMAL Sara", "not of the form STATE@TIME"},
		{"measure 5m d1 a", "not of the form name=number"},
		{"measure 5m d1 a=1 a=2", "occurs twice"},
		{"retention events soon", "neither"},
		{"retention both 7d", `not of "both"`},
		{"states A", "not of the form NAME=SEVERITY"},
		{"fails maybe: retire d1", `"maybe" is no kind of error`},
		{"expect WARNING1", "needs a colon"},
		{"expect log:", "a name is missing"},
		{"expect log d1 sise=3:", "is none of"},
		{"expect since d1", "a value is missing"},
		{"expect counts d1:", `"d1" is too much`},
		{"expect * silent=maybe:", "silent is true or false"},
		{"expect jump d1", "needs a colon"},
		{"restore jump d1", `no "jump" to restore`},
		{"expect a,,b:", "in \"a,,b\""},
		{"in any order\nat 5m d1 NORMAL", "line 2: end is missing"},
		{"end", "there is no block to end"},
		{"in any order\nend\nin any order\nend", "line 3: in any order: there is one block"},
	} {
		err := runText(t.Context(), NewEnv(memstore.New()), c.text, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// TestFailures: an expectation that does not hold names its line and what it is instead.
func TestFailures(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"at 5m d1 NORMAL\nexpect WARNING1: d1", "line 2: expect WARNING1: d1: it is []"},
		{"at 5m d1 NORMAL\nexpect since d1 4m", "line 2: expect since d1 4m: it is 5m"},
		{"at 5m d1 NORMAL\nexpect gone d1", "it was done"},
		{"expect since d1 4m", "was never seen"},
		{"at 5m d1 NORMAL op=Liz\nexpect entry d1 NORMAL@5m op=Tom", "op is Liz"},
		{"at 5m d1 NORMAL\nexpect entry d1 NORMAL@5m op=Tom or msg=hot", "msg is -"},
		{
			"at 5m d1 NORMAL msg=hot\nat 6m d1 NORMAL\nexpect shows d1 NORMAL@5m",
			"the device shows",
		},
		{"fails conflict: retire d1", `of kind "conflict", not "not found", was expected`},
		{
			"in any order\nat 5m d1 A\nat 5m d1 B\nend\nexpect log d1: A@5m",
			"line 5: expect log d1: A@5m: it is [B@5m A@5m] (in the order of lines 2, 3)",
		},
	} {
		e := NewEnv(memstore.New())
		err := runText(context.Background(), e, c.text, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// system declares what it can, and no more.
type system struct {
	System
	can andon.Capabilities
}

func (s system) Capabilities() andon.Capabilities { return s.can }

func declaring(atomicBatch bool) System {
	return system{can: andon.Capabilities{AtomicBatch: atomicBatch}}
}

// TestStride: on a store on a network of two statements either still comes before the other, and
// each comes in each place, but for one of four.
func TestStride(t *testing.T) {
	for texts, want := range map[string][3]int{
		"a b c": {6, 9, 6}, "a b c a": {12, 12, 6},
		"a b c d": {5, 15, 12}, "a b c d e": {11, 25, 20},
	} {
		var s scenario
		for _, text := range strings.Fields(texts) {
			s.anyOrder = append(s.anyOrder, step{text: text})
		}
		stride, n, ran := s.stride(&Env{System: declaring(false)}), -1, 0
		places, pairs := map[string]bool{}, map[string]bool{}
		for order := range permutations(s.anyOrder) {
			if n++; n%stride != 0 {
				continue
			}
			ran++
			for place, st := range order {
				places[fmt.Sprint(place, st.text)] = true
				for _, later := range order[place+1:] {
					if later.text != st.text {
						pairs[st.text+later.text] = true
					}
				}
			}
		}
		if got := [3]int{ran, len(places), len(pairs)}; got != want {
			t.Errorf("of %s: %d orders, places and pairs, want %d", texts, got, want)
		}
		if got := s.stride(&Env{System: declaring(true)}); got != 1 {
			t.Errorf("stride %d on a local store", got)
		}
	}
}

func TestPermutations(t *testing.T) {
	for texts, want := range map[string]int{"": 1, "a b c": 6, "a b c a": 12, "a a a": 1} {
		var steps []step
		for _, text := range strings.Fields(texts) {
			steps = append(steps, step{text: text})
		}
		orders := 0
		seen := map[string]bool{}
		for order := range permutations(steps) {
			orders++
			seen[fmt.Sprint(order)] = true
		}
		if orders != want || len(seen) != want {
			t.Errorf("%q has %d orders, %d of them different, want %d", texts, orders, len(seen),
				want)
		}
	}
}
