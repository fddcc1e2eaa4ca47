package people_test

import (
	"fmt"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
)

// TestStepsTakeTurns: each step of each incident takes the next turn, also where several are due at
// once, and one however often it is decided. So it is where a policy is tried.
func TestStepsTakeTurns(t *testing.T) {
	schedule := &people.Schedule{Name: "line", Layers: []people.Layer{
		{People: []andon.PersonID{"Liz", "Tom"}}, {People: []andon.PersonID{"Ann", "Liz"}},
	}}
	policy := people.Policy{Name: "p", Assign: "turn line", Steps: []people.PolicyStep{
		{After: 1 * minute, To: "turn line"}, {After: 2 * minute, To: "turn line"},
	}, Repeat: 1, Every: 3 * minute}
	known := &people.Known{
		Policies: []people.Policy{policy},
		Rosters:  map[string]*people.Roster{"line": {Schedule: schedule}},
	}
	told := func(in *people.Incident) (told []andon.PersonID) {
		for _, step := range in.Steps {
			if step.What == "assigned" || step.What == "notified" {
				told = append(told, step.To)
			}
		}
		return told
	}
	is := func(what string, in *people.Incident, want string) {
		t.Helper()
		if got := fmt.Sprint(told(in)); got != want {
			t.Errorf("%s: %s are told, want %s: %+v", what, got, want, in.Steps)
		}
	}

	turns := 0
	next := func(of *people.Schedule) andon.PersonID {
		turns++
		return of.Everybody()[(turns-1)%3]
	}
	s := &people.Setting{Now: 100 * minute, Known: known}
	s.TakeTurns(next)
	var all [2]*people.Incident
	for i := range all {
		for range 2 { // as if another process had been first
			o := seen(s, "WARNING2")
			o.Operator = ""
			all[i] = people.Open(s, fmt.Sprintf("%d-x", i), "d1", people.StateKind, o)
		}
	}
	s.Now = 200 * minute // nothing was done meanwhile
	s.TakeTurns(next)
	for _, in := range all {
		in.Advance(s)
	}
	is("the first", all[0], "[Liz Ann Liz Tom Ann]")
	is("the second", all[1], "[Tom Liz Tom Ann Liz]")

	in, _ := known.Timeline(&policy, &people.Trial{
		At: 100 * minute, Device: "d1", Kind: people.StateKind, Severity: 48,
	})
	is("a trial", in, "[Liz Tom Ann Liz Tom]")
}
