package rules_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/rules"
)

const (
	hot    = `"when": {"metric": "t", "op": ">", "value": 80}, "state": "WARNING2"`
	second = 1_000_000
)

func program(t *testing.T, text string) *rules.Program {
	t.Helper()
	r := &rules.Rule{}
	if err := json.Unmarshal([]byte("{"+text+"}"), r); err != nil {
		t.Fatal(err)
	}
	p, err := r.Program()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// readings reads "10 t=81 p=3, 20 t=80": seconds, and metrics.
func readings(t *testing.T, text string) (all []andon.Reading) {
	t.Helper()
	for one := range strings.SplitSeq(text, ", ") {
		fields := strings.Fields(one)
		at, err := strconv.Atoi(fields[0])
		r := andon.Reading{Device: "d", Time: andon.Time(at) * second}
		for _, f := range fields[1:] {
			name, value, _ := strings.Cut(f, "=")
			number, bad := strconv.ParseFloat(value, 64)
			err = errors.Join(err, bad)
			r.Metrics = append(r.Metrics, andon.Metric{Name: andon.MetricName(name), Value: number})
		}
		if r.Metrics, err = r.Metrics.Sorted(); err != nil {
			t.Fatal(one, err)
		}
		all = append(all, r)
	}
	return all
}

func shown(turns []rules.Turn) string {
	var all []string
	for _, t := range turns {
		what := "clear"
		if t.Raised {
			what = strings.TrimSpace("raise " + t.Message)
		}
		all = append(all, fmt.Sprint(int64(t.At/second), " ", what))
	}
	return strings.Join(all, ", ")
}

// TestRun: what rules do with readings, in whatever parts these come.
func TestRun(t *testing.T) {
	for _, c := range []struct{ name, rule, readings, want string }{
		{"a threshold", hot, "1 t=80, 2 t=81, 3 t=90, 4 t=80", "2 raise, 4 clear"},
		{"hysteresis", hot + `, "clear_value": 75`,
			"1 t=81, 2 t=78, 3 t=81, 4 t=76, 5 t=75, 6 t=78", "1 raise, 5 clear"},
		{"hysteresis below", `"when": {"metric": "t", "op": "<=", "value": 5}, "state": "W",
			"clear_value": 7`, "1 t=5, 2 t=7, 3 t=7.1", "1 raise, 3 clear"},
		{"a second condition", hot + `, "clear": {"metric": "p", "op": "==", "value": 0}`,
			"1 t=81 p=1, 2 t=10 p=1, 3 t=10 p=0, 4 t=81 p=0, 5 t=81 p=0",
			"1 raise, 3 clear, 4 raise, 5 clear"},
		{"it must hold", hot + `, "for": "10s"`,
			"0 t=81, 5 t=81, 6 t=70, 7 t=81, 16 t=81, 17 t=81, 18 t=1", "17 raise, 18 clear"},
		{"the end must hold", hot + `, "clear_for": "10s"`,
			"1 t=81, 2 t=70, 11 t=81, 12 t=70, 21 t=70, 22 t=70", "1 raise, 22 clear"},
		{"a value counts until the next, over a gap", hot + `, "for": "10s"`,
			"1 t=81, 500 t=82", "500 raise"},
		{"late readings", hot + `, "for": "10s"`,
			"100 t=81, 95 t=1, 110 t=81, 105 t=1", "110 raise"},
		{"a tie", hot, "1 t=81, 1 t=70, 2 t=70", "1 raise, 2 clear"},
		{"another metric", hot, "1 p=81, 2 t=81, 3 p=1, 4 t=81", "2 raise"},
		{"a change", `"when": {"metric": "t", "op": ">=", "value": 5, "over": "10s"}, "state": "W"`,
			"0 t=0, 5 t=4, 10 t=5, 11 t=6, 40 t=90, 41 t=94", "10 raise, 11 clear"},
		{"a fall", `"when": {"metric": "t", "op": "<", "value": -5, "over": "10s"}, "state": "W"`,
			"0 t=9, 5 p=1, 6 t=3, 17 t=3, 18 t=3", "6 raise, 18 clear"},
		{"an absence", `"when": {"metric": "t", "absent_for": "10s"}, "state": "W"`,
			"1 t=1, 11 t=1, 15 p=1, 22 t=1", "21 raise, 22 clear"},
		{"an expression", `"state": "W", "when":
			{"expr": "t / p > 2 and not (metric(\"p\") == 3)"}`,
			"1 t=9, 2 t=9 p=4, 3 t=9 p=3, 4 t=0 p=0", "2 raise, 3 clear"},
		{"functions", `"state": "W", "when":
			{"expr": "max(abs(t), p) >= 7 ? true : floor(t) == 1"}`,
			"1 t=-7 p=0, 2 t=2 p=2, 3 t=1.5 p=0", "1 raise, 2 clear, 3 raise"},
		{"a message", hot + `, "message": "{t} and {x}, {{t}"`,
			"1 t=81.25", "1 raise 81.25 and {x}, {81.25"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, all := program(t, c.rule), readings(t, c.readings)
			if got := shown(p.Run(rules.Standing{}, all, 0).Turns); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			var turns []rules.Turn
			s := rules.Standing{}
			for i := range all { // each by itself
				run := p.Run(s, all[:i+1], all[i].Time)
				s, turns = run.Standing, append(turns, run.Turns...)
			}
			if got := shown(turns); got != c.want {
				t.Errorf("one by one got %q, want %q", got, c.want)
			}
		})
	}
}

// TestFailures: a reading on which a rule fails changes nothing, and failures in a row are counted.
func TestFailures(t *testing.T) {
	p := program(t, `"when": {"expr": "t / p > 2"}, "state": "W"`)
	run := p.Run(rules.Standing{}, readings(t, "1 t=1 p=0, 2 t=9 p=1, 3 t=1 p=0, 4 t=1 p=0"), 0)
	if got := shown(run.Turns); got != "2 raise" || run.Failures != 2 || run.Failed != 3 ||
		!run.Worked || run.Err == nil || !strings.Contains(run.Err.Error(), "division by zero") {
		t.Errorf("got %q, %+v", got, run)
	}
}

// TestSeveral: of the rules that are raised on a device the severest is said, and what is said
// comes after what was said before.
func TestSeveral(t *testing.T) {
	mild := program(t, `"name": "mild", "state": "WARNING1", "message": "m {t}",
		"when": {"metric": "t", "op": ">", "value": 50}`)
	hard := program(t, `"name": "hard", "state": "WARNING3", "clear_state": "WARNING1",
		"when": {"metric": "p", "op": ">", "value": 9}`)
	d, states := rules.Device{Rules: map[string]rules.Standing{}}, andon.DefaultStates()
	both := []*rules.Program{mild, hard}
	for _, one := range readings(t, "1 t=60, 2 t=60 p=10, 3 t=9, 4 t=60, 5 p=1, 5 t=1, 6 t=0") {
		var turns []rules.Turn
		next := map[string]rules.Standing{}
		for _, p := range both {
			run := p.Run(d.Rules[p.Name], []andon.Reading{one}, 0)
			next[p.Name], turns = run.Standing, append(turns, run.Turns...)
		}
		d.Take(both, turns, states)
		d.Rules = next
	}
	var got []string
	for _, s := range d.Say {
		is := fmt.Sprint(int64(s.Time), " ", s.State, " ", s.Rule, " ", s.Message)
		got = append(got, strings.TrimSpace(is))
	}
	want := "1000000 WARNING1 mild m 60, 2000000 WARNING3 hard, 5000000 WARNING1 mild m 60, " +
		"5000001 NORMAL mild"
	if got := strings.Join(got, ", "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestWrong: what is wrong with a rule is at a place.
func TestWrong(t *testing.T) {
	for _, c := range [][2]string{
		{`"when": {}, "state": "W"`, "body.when.metric: metric is missing"},
		{`"when": {"metric": "t", "value": 1}, "state": "W"`, `body.when.op: "" is none of`},
		{
			`"when": {"metric": "t", "op": "=>", "value": 1}, "state": "W"`,
			`body.when.op: "=>" is none of`,
		},
		{`"when": {"metric": "t", "op": ">"}, "state": "W"`, "body.when.value: there is no"},
		{`"when": {"metric": "t", "op": ">", "value": 1}`, "body.state: state is missing"},
		{hot + `, "clear_value": 81`, "body.clear_value: 81 is beyond"},
		{hot + `, "clear_value": 1, "clear": {"metric": "t"}`, "body.clear: there is"},
		{hot + `, "clear": {"metric": "t", "absent_for": "1m"}`, "body.clear: it compares"},
		{hot + `, "for": "31d"`, "body.for: 31d is more than 30d"},
		{hot + `, "match": {"devices": ["a/..", ".."]}`, "body.match.devices: "},
		{hot + `, "clear_state": ","`, "body.clear_state: "},
		{
			`"when": {"metric": "t", "absent_for": "1s"}, "state": "W"`,
			"body.when.absent_for: 1s is less",
		},
		{
			`"when": {"metric": "t", "absent_for": "1m"}, "for": "1m", "state": "W"`,
			"body.when.absent_for: an absence ends",
		},
		{
			`"when": {"expr": "t >", "metric": "t"}, "state": "W"`,
			"body.when.expr: an expression stands",
		},
		{
			`"when": {"expr": "t >"}, "state": "W"`,
			"body.when.expr: line 1, column 3: unexpected token EOF",
		},
		{
			`"when": {"expr": "t > 1 and\n  p +"}, "state": "W"`,
			"body.when.expr: line 2, column 5: ",
		},
		{
			`"when": {"expr": "t + 1"}, "state": "W"`,
			"body.when.expr: line 1, column 1: expected bool",
		},
		{`"when": {"expr": "1 > 2"}, "state": "W"`, "body.when.expr: it names no metric"},
		{
			`"when": {"expr": "t > \"a\""}, "state": "W"`,
			"body.when.expr: line 1, column 3: invalid op",
		},
		{
			`"when": {"expr": "all(1..1000000, t > #)"}, "state": "W"`,
			"body.when.expr: line 1, column 6: operator",
		},
		{`"when": {"expr": "len([t]) > 1"}, "state": "W"`, "body.when.expr: line 1, column"},
		{
			`"when": {"expr": "let x = t; x > 1"}, "state": "W"`,
			"body.when.expr: line 1, column",
		},
		{`"when": {"expr": "t.x > 1"}, "state": "W"`, "body.when.expr: line 1, column"},
		{
			`"when": {"expr": "now() > t"}, "state": "W"`,
			"body.when.expr: line 1, column 1: function",
		},
		{
			`"when": {"expr": "f(t) > 1"}, "state": "W"`,
			"body.when.expr: line 1, column 1: want metric",
		},
		{
			`"when": {"expr": "` + strings.Repeat("t > 1 and ", 300) + `true"}, "state": "W"`,
			"maximum allowed nodes",
		},
	} {
		text, want, r := c[0], c[1], &rules.Rule{}
		if err := json.Unmarshal([]byte("{"+text+"}"), r); err != nil {
			t.Fatal(text, err)
		}
		e, is := errors.AsType[*andon.Error](r.Validate())
		if !is || len(e.Fields) != 1 {
			t.Errorf("%s: %v", text, e)
		} else if got := e.Fields[0].Location + ": " + e.Message; !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestAbsenceIsAnIncident: its state is one above severity 0.
func TestAbsenceIsAnIncident(t *testing.T) {
	for state, want := range map[andon.State]string{"NORMAL": "severity 0", "WARNING1": ""} {
		r := rules.Rule{State: state}
		r.When.Absent = 60_000_000
		err := r.CheckStates(andon.DefaultStates())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", state, err)
		}
	}
}

// FuzzExpression: whatever is written as an expression is refused at a place, or evaluated at once.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{
		"t > 1", `metric("a b") / t > 1`, "t > 1 ? p : q", "((((t))))", "t in 1..9", "$env", "t?.x",
		"if t > 1 { true } else { false }", "t | abs() > 3", "not t", "t == t != t", "-t ** 2 > 1",
		`metric > 1 and metric("metric") > 1`, "min(t, 1, 2) > 0 or round(t) % 2 == 0", "\"\xff",
		"t //",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := rules.Rule{State: "W", When: rules.Condition{Expr: text}}
		p, err := r.Program()
		if err != nil {
			if e, is := errors.AsType[*andon.Error](err); !is || len(e.Fields) != 1 {
				t.Fatalf("%q: %v has no place", text, err)
			}
			return
		}
		one := andon.Reading{Device: "d", Time: second}
		for i, name := range p.Needs {
			one.Metrics = append(one.Metrics, andon.Metric{Name: name, Value: float64(i)})
		}
		began := time.Now()
		run := p.Run(rules.Standing{}, []andon.Reading{one}, 0)
		if took := time.Since(began); took > time.Second {
			t.Errorf("%q took %s", text, took)
		}
		if run.Worked == (run.Failures == 1) {
			t.Errorf("%q was not evaluated: %+v", text, run)
		}
	})
}
