package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// linesOf returns the lines of a group's requests.
func (g *group) linesOf() (all []line) {
	for i := range g.requests {
		all = append(all, g.requests[i].lines...)
	}
	return all
}

// TestLaterLineKeepsEscalations: lines of one entry are sent as one, unless that would lose whom
// the earlier one was escalated to.
func TestLaterLineKeepsEscalations(t *testing.T) {
	var g group
	put := func(n int, message, to string, want bool) {
		t.Helper()
		e := placed{Index: n - 2, Line: n, Value: entry{Event: &andon.Event{
			Device: "d", Time: andon.MinTime, State: "NORMAL", Message: message,
			EscalatedTo: andon.PersonID(to),
		}}}
		if got := g.add(e, defaultBatch); got != want {
			t.Errorf("line %d: %t, want %t", n, got, want)
		}
	}
	put(2, "one", "", true)
	put(3, "one", "", true)
	put(4, "two", "Sara", true)
	put(5, "three", "Sara", true)
	put(6, "three", "Tom", false)
	put(7, "three", "", false)
	lines := g.linesOf()
	if len(lines) != 1 || lines[0].Line != 5 {
		t.Fatalf("%d lines are sent: %+v", len(lines), lines)
	}
	r := newReport("log.csv", nil, nil)
	r.count(kindEvents, lines, client.Result{Accepted: 1, New: 1})
	got := []int{r.accepted(), r.New, r.Same, r.Replaced}
	if diff := cmp.Diff([]int{4, 1, 1, 2}, got); diff != "" {
		t.Error(diff)
	}

	var out bytes.Buffer
	r = newReport("log.csv", &out, nil)
	r.count(kindEvents, lines,
		client.Result{Rejected: []andon.Rejection{{Index: 0, Error: "no"}}})
	r.show()
	want := "log.csv:2: no\nlog.csv:3: no\nlog.csv:4: no\nlog.csv:5: no\n"
	if out.String() != want || r.accepted()+r.Replaced+r.Same != 0 || r.Rejected != 4 {
		t.Errorf("of rejected lines counted %+v, shown %q", r, out.String())
	}
}

// TestRejectsAreInOrder: the requests of a group are sent concurrently, and what was rejected in
// them and before them is shown in the order of the file, whichever of them fails.
func TestRejectsAreInOrder(t *testing.T) {
	var g group
	for n := 1; n <= 12; n++ {
		e := &andon.Event{Device: andon.DeviceID(fmt.Sprint(n)), Time: andon.MinTime, State: "X"}
		if n%5 == 0 {
			g.bad = append(g.bad, andon.Rejection{Index: n, Line: n, Error: "bad"})
		} else if !g.add(placed{Index: n, Line: n, Value: entry{Event: e}}, defaultBatch) {
			t.Fatalf("line %d is of another group", n)
		}
	}
	var out bytes.Buffer
	r := newReport("log.csv", &out, nil)
	for i := range g.requests {
		var result client.Result
		for n := range g.requests[i].lines {
			result.Rejected = append(result.Rejected, andon.Rejection{Index: n, Error: "no"})
		}
		r.count(kindEvents, g.requests[i].lines, result)
	}
	r.waiting = append(r.waiting, g.bad...)
	r.show()
	var want strings.Builder
	for n := 1; n <= 12; n++ {
		why := map[bool]string{true: "bad", false: "no"}[n%5 == 0]
		fmt.Fprintf(&want, "log.csv:%d: %s\n", n, why)
	}
	if diff := cmp.Diff(want.String(), out.String()); diff != "" {
		t.Error(diff)
	}
	if r.accepted() != 0 || r.Rejected != 12 {
		t.Errorf("accepted %d, rejected %d", r.accepted(), r.Rejected)
	}
}

// TestRejectsAreLegible: a reason may quote the file, whose control characters must not reach a
// terminal.
func TestRejectsAreLegible(t *testing.T) {
	var out bytes.Buffer
	r := newReport("log.csv", &out, nil)
	r.waiting = append(r.waiting, []andon.Rejection{{Line: 2, Error: "not \x1b[31mred\n"}}...)
	r.show()
	if want := "log.csv:2: not  [31mred \n"; out.String() != want {
		t.Errorf("it shows %q, want %q", out.String(), want)
	}
}

// TestKindsAreSentInTurn: entries of two kinds are never in one group, and an error of the file
// ends it after what was read before.
func TestKindsAreSentInTurn(t *testing.T) {
	broken := errors.New("broken")
	file := func(yield func(placed, error) bool) {
		_ = yield(placed{Value: entry{Assign: &client.Assignment{Device: "a"}}}, nil) &&
			yield(placed{Value: entry{Event: &andon.Event{Device: "a"}}}, nil) &&
			yield(placed{}, broken)
	}
	s := sender{report: newReport("log", nil, nil), batch: defaultBatch}
	groups := make(chan *group, 3)
	if err := s.read(t.Context(), file, groups); !errors.Is(err, broken) {
		t.Errorf("it ended with %v", err)
	}
	close(groups)
	var kinds []string
	for g := range groups {
		kinds = append(kinds, g.kind)
	}
	if diff := cmp.Diff([]string{kindAssign, kindEvents}, kinds); diff != "" {
		t.Error(diff)
	}
}

// TestStrangeStatesAreFew: of states that are none no more is kept and shown than a person reads.
func TestStrangeStatesAreFew(t *testing.T) {
	s := strangeTo(andon.DefaultStates().Defs())
	for _, name := range []andon.State{"NORMAL", "ODD"} {
		s.add(name)
	}
	want := "1 state not in the set of tenant metro, kept with severity 16: ODD; " +
		"see andon tenant set --help\n"
	if got := s.note("metro"); got != want {
		t.Errorf("got %s", got)
	}
	for i := range 2 * keptStrange {
		s.add(andon.State(fmt.Sprintf("%04d", i)))
	}
	want = "1,000 states or more not in the set of tenant metro, kept with severity 16: 0000, " +
		"0001, 0002, 0003, 0004, 0005, 0006, 0007, 0008, 0009, …; see andon tenant set --help\n"
	if got := s.note("metro"); got != want || len(s.names) != keptStrange {
		t.Errorf("got %s", got)
	}
}

// TestInterruptedWhileTheFileHangs: an import ends with its context, also while a read of its file
// does not end, and what was sent until then is counted.
func TestInterruptedWhileTheFileHangs(t *testing.T) {
	const rows = 100
	ctx, cancel := context.WithCancel(t.Context())
	hang, ended := make(chan struct{}), make(chan struct{})
	file := func(yield func(placed, error) bool) {
		defer close(ended)
		for n := range rows {
			device := andon.DeviceID(fmt.Sprint("d", n%7))
			e := &andon.Event{Device: device, Time: andon.MinTime + andon.Time(n), State: "NORMAL"}
			if !yield(placed{Index: n, Line: n + 1, Value: entry{Event: e}}, nil) {
				return
			}
		}
		cancel()
		<-hang
	}
	s := sender{report: newReport("-", nil, nil), batch: 3, dryRun: true}
	if err := s.run(ctx, file); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if n := s.report.accepted(); n == 0 || n > rows {
		t.Errorf("%d rows are accepted", n)
	}
	close(hang)
	<-ended
}
