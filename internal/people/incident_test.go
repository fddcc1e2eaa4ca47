package people_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
)

const minute = 60_000_000

// TestPolicy: what a policy does and when, by what happens to the incident. A time is in minutes.
func TestPolicy(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"nobody", "40 end", "5 Liz; 15 Sara; 25 Liz; 35 Sara"},
		{"acknowledged", "6 ack; 40 end", "5 Liz"},
		{"acknowledgement expires", "4 ack 10m; 40 end", "15 Liz; 25 Sara; 35 Liz"},
		{"returned", "6 normal; 40 end", "5 Liz"},
		{"shelved", "2 shelve 10m; 40 end", "15 Liz; 25 Sara; 35 Liz"},
		{"unshelved", "2 shelve 10m; 4 unshelve; 40 end", "7 Liz; 17 Sara; 27 Liz; 37 Sara"},
		{"out of service", "2 remove; 12 restore; 22 end", "15 Liz"},
		{"suppressed", "2 window 2,12; 12 look; 22 end", "15 Liz"},
		{"suppressed for longer", "2 window 2,12; 4 window 2,14; 22 end", "17 Liz"},
		{"suppressed for shorter", "2 window 2,12; 7 window 2,7; 22 end", "10 Liz; 20 Sara"},
		{"suppressed and shelved", "2 window 2,12; 3 shelve 10m; 20 end", "16 Liz"},
		{"shelved and suppressed", "2 shelve 8m; 3 window 3,12; 20 end", "15 Liz"},
		{"a window ends unnoticed", "2 window 2,12; 14 look; 22 end", "15 Liz"},
		{"a window begins unnoticed", "0 window 2,12; 4 look; 22 end", "15 Liz"},
		{"before a step", "0 window 2,12; 6 look; 22 end", "15 Liz"},
		{"after a step", "0 window 6,12; 8 look; 20 end", "12 Liz"},
		{"before it opens", "0 window -9,12; 2 look; 18 end", "17 Liz"},
		{"a window is put that has begun", "4 reviewed; 4 window 2,12; 22 end", "13 Liz"},
		{"taken", "6 take; 40 end", "5 Liz"},
		{"repeats", "6 WARNING2; 7 WARNING2; 22 end", "5 Liz; 15 Sara"},
		{"rises", "6 WARNING4; 22 end", "5 Liz; 7 Boss"},
		{"rises when acknowledged", "4 ack; 6 WARNING4; 22 end", "7 Boss"},
		{"falls and rises", "6 WARNING4; 9 WARNING2; 12 WARNING4; 22 end", "5 Liz; 7 Boss"},
		{"acknowledged for longer", "4 ack 10m; 6 ack 20m; 60 end",
			"27 Liz; 37 Sara; 47 Liz; 57 Sara"},
		{"acknowledged again", "4 ack 10m; 6 again-ack; 22 end", "15 Liz"},
		{"shelved for longer", "2 shelve 1m; 2 shelve 10m; 22 end", "15 Liz"},
		{"shelved for shorter", "2 shelve 1h; 4 shelve 1m; 10 end", "8 Liz"},
		{"shelved for as long again", "2 shelve 10m; 4 again-shelve 10m; 22 end", "15 Liz"},
		{"late", "100 end", "5 Liz; 15 Sara; 25 Liz; 35 Sara"},
		{"changed to later", "6 policy 5,65; 70 end", "5 Liz; 65 Sara"},
		{"changed to later, which nobody has seen", "6 put 5,65; 70 end", "5 Liz; 65 Sara"},
		{"changed to sooner", "6 policy 5,10; 12 end", "5 Liz; 10 Sara"},
		{"changed to what is past", "8 policy 5,7,7; 12 end", "5 Liz; 8 Sara; 8 Sara"},
		{"changed while it is shelved", "6 shelve 10m; 8 policy 5,7; 20 end", "5 Liz; 17 Sara"},
		{"changed after its steps", "16 policy 30,40; 55 end", "5 Liz; 15 Sara; 50 Liz"},
		{"changed to fewer steps", "36 policy 5; 55 end", "5 Liz; 15 Sara; 25 Liz; 35 Sara"},
		{"the clock is set back", "4 back 1h; 22 end", "5 Liz; 15 Sara"},
		{"it is set back unnoticed", "4 back 1h?; 22 end", "9 Liz; 19 Sara"},
		{"shelved for, and set back", "2 shelve 10m; 4 back 1h; 22 end", "15 Liz"},
		{"shelved for, and set back unnoticed", "2 shelve 10m; 4 back 1h?; 22 end", "17 Liz"},
		{"shelved until, and set back", "2 until 10m; 4 back 1h; 80 end", "75 Liz"},
		{"paused while the clock is ahead", "1 policy 5,90; 1 ahead 1h; 2 shelve 10m; 4 back 1h; " +
			"105 end", "5 Liz; 100 Sara"},
		{"deleted", "6 policy none; 40 end", "5 Liz"},
		{"deleted and put again", "6 policy none; 20 policy 5,15; 22 end", "5 Liz; 20 Sara"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := play(t, c.script); got != c.want {
				t.Errorf("told: %s; want %s", got, c.want)
			}
		})
	}
}

// policies are those of a script: one for what is severe, and another one that has steps after so
// many minutes, "5,15", or that is not there, "none".
func policies(steps string) *people.Known {
	low := people.Policy{Name: "low", Repeat: 1, Every: 10 * minute}
	known := &people.Known{Policies: []people.Policy{
		{Name: "high", Match: people.Match{MinSeverity: 80},
			Steps: []people.PolicyStep{{After: minute, To: "person Boss"}}},
	}}
	if steps == "none" {
		return known
	}
	to := people.Target("operator")
	for text := range strings.SplitSeq(steps, ",") {
		after, _ := andon.ParseDuration(text + "m")
		low.Steps = append(low.Steps, people.PolicyStep{After: after, To: to})
		to = "supervisor Sara"
	}
	known.Policies = append(known.Policies, low)
	return known
}

func play(t *testing.T, script string) string {
	t.Helper()
	s := &people.Setting{Known: policies("5,15")}
	start := andon.Time(100 * minute)
	s.Now = start
	in := people.Open(s, "1-x", "d1", people.StateKind, seen(s, "WARNING2"))
	from, to := 0, 0 // of a window of maintenance, in minutes
	window := func() {
		w := people.Window{
			Maintenance: &people.Maintenance{Name: "w", Prefix: "d"},
			Begins:      start + andon.Time(from)*minute, Ends: start + andon.Time(to)*minute,
		}
		if s.Windows = nil; s.Now >= w.Begins && s.Now < w.Ends {
			s.Windows = []people.Window{w}
		}
	}
	for line := range strings.SplitSeq(script, "; ") {
		var at int
		var what, span string
		_, _ = fmt.Sscan(line, &at, &what, &span)
		s.Now = start + andon.Time(at)*minute
		window()
		in.Advance(s)
		what, again := strings.CutPrefix(what, "again-")
		a := people.Action{By: "Liz", Reason: "because"}
		a.ExpiresIn, _ = andon.ParseDuration(span)
		if a.For = a.ExpiresIn; what == "until" {
			a.For, a.Until = 0, s.Now.Add(a.For)
		}
		do := map[string]people.ActionKind{
			"ack": people.Acknowledge, "shelve": people.ShelveIt, "until": people.ShelveIt,
			"unshelve": people.Unshelve,
			"remove":   people.Remove, "restore": people.Restore, "take": people.Take,
		}
		switch a.Do = do[what]; {
		case what == "end":
		case what == "put":
			s.Known = policies(span)
		case what == "policy":
			s.Known = policies(span)
			in.Review(s)
		case what == "reviewed":
			s.Reviewed = s.Now
		case what == "look":
			in.Review(s)
		case what == "ahead":
			start = start.Add(a.For)
		case what == "back":
			known, unnoticed := strings.CutSuffix(span, "?")
			by, _ := andon.ParseDuration(known)
			start, s.Now = start.Add(-by), s.Now.Add(-by)
			if !unnoticed {
				s.SetBack = by
			}
			in.Review(s)
			s.SetBack = 0
		case what == "window":
			_, _ = fmt.Sscanf(span, "%d,%d", &from, &to)
			window()
			in.Review(s)
		case a.Do == "":
			in.Observe(s, seen(s, what))
		default:
			if changed, err := in.Act(s, &a); err != nil || changed == again {
				t.Fatal(line, err)
			}
			if changed, err := in.Act(s, &a); err != nil || changed {
				t.Fatal("twice: ", line, err)
			}
		}
	}
	var told []string
	for _, e := range in.Doing {
		if e.Do != people.Assign {
			told = append(told, fmt.Sprint(int(e.Time-start)/minute, " ", e.To))
		}
	}
	return strings.Join(told, "; ")
}

func seen(s *people.Setting, state string) *people.Observation {
	severity := map[string]uint8{"WARNING2": 48, "WARNING4": 80}[state]
	return &people.Observation{
		Holds: severity > 0, Since: s.Now, Severity: severity, Operator: "Liz",
		Entry: andon.EntryRef{Time: s.Now, State: andon.State(state)},
	}
}

// TestRefused: what is wrong with an action names its place.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		a    people.Action
		want string
	}{
		{people.Action{Do: people.Take}, "body.by"},
		{people.Action{Do: people.Comment, By: "Liz"}, "body.note"},
		{people.Action{Do: people.EscalateTo, By: "Liz"}, "body.to"},
		{people.Action{Do: people.ShelveIt, By: "Liz", Once: true}, "body.reason"},
		{people.Action{Do: people.ShelveIt, By: "Liz", Once: true, Reason: " \t"}, "body.reason"},
		{people.Action{Do: people.Comment, By: "Liz", Note: " "}, "body.note"},
		{people.Action{Do: people.Acknowledge, By: "  "}, "body.by"},
		{people.Action{Do: people.ShelveIt, By: "Liz", Reason: "r"}, "body.until"},
		{people.Action{Do: people.ShelveIt, By: "Liz", Reason: "r", Until: 5}, "body.until"},
		{people.Action{Do: people.ShelveIt, By: "Liz", Reason: "r", For: 25 * 60 * minute},
			"body.for"},
		{people.Action{Do: people.EscalateTo, By: "Liz", To: "Sarra"}, "body.to"},
	} {
		known := &people.Known{People: map[andon.PersonID]*people.Person{"Sara": {}}}
		_, err := new(people.Incident).Act(&people.Setting{Known: known, Now: minute}, &c.a)
		e, _ := err.(*andon.Error)
		if e == nil || len(e.Fields) != 1 || e.Fields[0].Location != c.want {
			t.Errorf("%+v: %v, want one at %s", c.a, err, c.want)
		}
	}
}

// TestAcknowledgedAsShown: who was shown less than the worst acknowledges nothing.
func TestAcknowledgedAsShown(t *testing.T) {
	s := &people.Setting{Known: policies("5"), Now: minute}
	in := people.Open(s, "1-x", "d1", people.StateKind, seen(s, "WARNING4"))
	in.Observe(s, seen(s, "WARNING2"))
	for _, shown := range []uint8{48, 80} {
		_, err := in.Act(s, &people.Action{Do: people.Acknowledge, By: "Liz", Shown: shown})
		if got := in.Acknowledged != nil; got != (shown == 80) || got != (err == nil) {
			t.Errorf("shown %d: %v, %v", shown, in.Acknowledged, err)
		}
	}
}

// TestEscalatedBack: what somebody said before is said again once somebody else has escalated.
func TestEscalatedBack(t *testing.T) {
	s := &people.Setting{Known: &people.Known{}, Now: minute}
	in, told := people.Open(s, "1-x", "d1", people.StateKind, seen(s, "WARNING2")), []string{}
	for _, who := range []string{"Liz Sara", "Liz Sara", "Tom Ann", "Liz Sara"} {
		by, to, _ := strings.Cut(who, " ")
		a := people.Action{Do: people.EscalateTo, By: andon.PersonID(by), To: andon.PersonID(to)}
		if _, err := in.Act(s, &a); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range in.Doing {
		told = append(told, string(e.To))
	}
	if got := strings.Join(told, " "); got != "Sara Ann Sara" {
		t.Errorf("escalated to %s", got)
	}
}

// TestWithdrawn: what began an incident is withdrawn, and the device has been normal for long.
func TestWithdrawn(t *testing.T) {
	s := &people.Setting{Known: &people.Known{}, Now: 9 * minute}
	in := people.Open(s, "1-x", "d1", people.StateKind, seen(s, "WARNING2"))
	in.Observe(s, &people.Observation{Entry: andon.EntryRef{Time: minute, State: "NORMAL"}})
	if in.Until != in.Since {
		t.Errorf("it was from %s to %s", in.Since, in.Until)
	}
}

// TestLongestShelf: the tenant says for how long an incident may be shelved.
func TestLongestShelf(t *testing.T) {
	for longest, admitted := range map[andon.Duration]bool{
		0: true, 24 * 60 * minute: true, 2 * 60 * minute: true, 60 * minute: false,
	} {
		s := &people.Setting{Known: &people.Known{}, Now: minute, LongestShelf: longest}
		a := people.Action{Do: people.ShelveIt, By: "Liz", Reason: "r", For: 61 * minute}
		if _, err := new(people.Incident).Act(s, &a); (err == nil) != admitted {
			t.Errorf("%s: %v", longest, err)
		}
	}
}

// TestOperatorOfAPolicy: a change from before the assignment by a policy, which is taken in later,
// does not undo it; that somebody has taken the device from its operator does.
func TestOperatorOfAPolicy(t *testing.T) {
	s := &people.Setting{Now: minute, Known: &people.Known{Policies: []people.Policy{
		{Name: "p", Assign: "person Liz"},
	}}}
	first := seen(s, "WARNING2")
	first.Operator = ""
	in := people.Open(s, "1-x", "d1", people.StateKind, first)
	done := map[string]bool{}
	for _, e := range in.Doing {
		done[e.Key] = true
	}
	in.Done(done)
	before := seen(s, "WARNING3")
	before.Operator = ""
	if in.Observe(s, before); in.Operator != "Liz" {
		t.Errorf("%q is the operator after a change from before", in.Operator)
	}
	before.Assigned = true
	if in.Observe(s, before); in.Operator != "" {
		t.Errorf("%q is the operator of a device without one", in.Operator)
	}
}

// TestOperatorAtTheEnd: an entry that ends an incident and names nobody leaves its operator.
func TestOperatorAtTheEnd(t *testing.T) {
	for named, want := range map[andon.PersonID]andon.PersonID{"": "Liz", "Bob": "Bob"} {
		s := &people.Setting{Known: &people.Known{}, Now: minute}
		in := people.Open(s, "1-x", "d1", people.StateKind, seen(s, "WARNING2"))
		end := seen(s, "NORMAL")
		end.Operator, end.Assigned = named, named != ""
		if in.Observe(s, end); in.Operator != want {
			t.Errorf("%q is the operator, not %q", in.Operator, want)
		}
	}
}
