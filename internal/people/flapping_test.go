package people_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
)

// TestFlapping: changes count at the times of their entries, in any order, not when they arrive.
// Times are in minutes; all changes arrive at 100.
func TestFlapping(t *testing.T) {
	const day = 9 * 24 * 60 * minute
	for _, c := range []struct {
		name   string
		at     []int
		stable int // 0: it does not flap
	}{
		{"a storm", []int{91, 92, 93, 94, 95, 96, 97, 98}, 108},
		{"out of order", []int{98, 97, 96, 95, 94, 93, 92, 91}, 108},
		{"ahead of the clock", []int{91, 92, 93, 94, 95, 96, 97, 105}, 110},
		{"too few within the window", []int{90, 92, 93, 94, 95, 96, 97, 98}, 0},
		{"a change from before the window", []int{91, 92, 93, 94, 95, 96, 97, 98, 7}, 108},
		{"a former storm", []int{11, 12, 13, 14, 15, 16, 17, 18, 19, 99}, 0},
		{"hourly", []int{-380, -320, -260, -200, -140, -80, -20, 40, 99}, 0},
	} {
		s := &people.Setting{Known: &people.Known{}, Now: day + 100*minute}
		var in *people.Incident
		for i, at := range c.at {
			o := seen(s, "WARNING2")
			o.Entry.Time = day + andon.Time(at)*minute
			if o.Entry.State = "WARNING1"; i%2 == 0 {
				o.Entry.State = "WARNING2"
			}
			if in == nil {
				in = people.Open(s, "1-x", "d1", people.StateKind, o)
			}
			in.Observe(s, o)
			text, err := json.Marshal(in)
			if in = new(people.Incident); err != nil || json.Unmarshal(text, in) != nil {
				t.Fatal(err)
			}
		}
		want := andon.Time(0)
		if c.stable > 0 {
			want = day + andon.Time(c.stable)*minute
		}
		if in.Flapping != (c.stable > 0) || in.Due() != want {
			t.Errorf("%s: flapping %t, stable at %s, want %s", c.name, in.Flapping, in.Due(), want)
		}
	}
}

// TestFlappingIsTold: once, by the policy that starts after it was noticed if nobody was there.
func TestFlappingIsTold(t *testing.T) {
	s := &people.Setting{Known: policies("none"), Now: 100 * minute}
	var in *people.Incident
	for i := range 14 {
		s.Now = s.Now.Add(minute / 2)
		state := []string{"WARNING2", "NORMAL"}[i%2]
		if i >= 10 {
			state = []string{"WARNING4", "NORMAL"}[i%2]
		}
		o := seen(s, state)
		if o.Operator = ""; in == nil {
			in = people.Open(s, "1-x", "d1", people.StateKind, o)
		}
		in.Observe(s, o)
	}
	if len(in.Doing) != 1 || in.Doing[0].To != "Boss" {
		t.Errorf("told: %+v", in.Doing)
	}
}

// TestFlappingTakesNoTurn: who has had the turn of an incident is told that its device flaps.
func TestFlappingTakesNoTurn(t *testing.T) {
	taken := 0
	s := &people.Setting{Now: 100 * minute, Known: &people.Known{
		Policies: []people.Policy{
			{Name: "p", Steps: []people.PolicyStep{{To: "turn line"}, {After: 60 * minute}}},
		},
		Rosters: map[string]*people.Roster{"line": {Schedule: &people.Schedule{Name: "line"}}},
	}, Turn: func(*people.Schedule, *people.Incident) andon.PersonID {
		taken++
		return []andon.PersonID{"Liz", "Tom", "Ann"}[taken-1]
	}}
	in := people.Open(s, "1-x", "d1", people.StateKind, seen(s, "WARNING2"))
	for i := range 9 {
		in.Advance(s)
		s.Now = s.Now.Add(minute / 2)
		in.Observe(s, seen(s, []string{"NORMAL", "WARNING2"}[i%2]))
	}
	if n := len(in.Doing); !in.Flapping || n != 2 || in.Doing[1].To != "Liz" || taken != 1 {
		t.Errorf("%d turns are taken, and told: %+v; %+v", taken, in.Doing, in.Steps)
	}
}

// TestStableIsTold: who was told that a device flaps is told once it is stable in a state that is
// not normal, where nobody has seen the incident and it is not paused.
func TestStableIsTold(t *testing.T) {
	for _, c := range []struct{ then, do, told string }{
		{"WARNING4", "", "Liz Liz Liz"},
		{"NORMAL", "", "Liz Liz"},
		{"WARNING4", "acknowledge", "Liz Liz"},
		{"WARNING4", "take", "Liz Liz Liz"}, // which assigns it
		{"WARNING4", "shelve", "Liz Liz"},
	} {
		s := &people.Setting{Now: 100 * minute, Known: &people.Known{Policies: []people.Policy{
			{Name: "p", Steps: []people.PolicyStep{{To: "operator"}}},
		}}}
		in := people.Open(s, "1-x", "d1", people.StateKind, seen(s, "WARNING2"))
		for i := range 9 {
			state := []string{"WARNING2", "NORMAL"}[i%2]
			if s.Now = s.Now.Add(minute / 2); i == 8 {
				state = c.then
			}
			in.Observe(s, seen(s, state))
			in.Advance(s)
		}
		a := people.Action{
			Do: people.ActionKind(c.do), By: "Liz", Reason: "why", For: 30 * minute,
		}
		if _, err := in.Act(s, &a); (err == nil) != (c.do != "") {
			t.Fatal(err)
		}
		if s.Now = s.Now.Add(9 * minute); in.Advance(s) || !in.Flapping {
			t.Errorf("%+v: it is stable too early", c)
		}
		s.Now = s.Now.Add(minute)
		in.Advance(s)
		var told []string
		for _, e := range in.Doing {
			told = append(told, string(e.To))
		}
		if got := strings.Join(told, " "); got != c.told || in.Flapping {
			t.Errorf("%+v: told %s; %+v", c, got, in.Steps)
		}
	}
}
