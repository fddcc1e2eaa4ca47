package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// TestLaterLineWins: a line of an entry that is in the group already, with other content, has to be
// sent after it. One with the same content is sent next to it.
func TestLaterLineWins(t *testing.T) {
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
	put(4, "two", "", false)
	put(5, "one", "Sara", false)
	lines := slices.Concat(g.lines[:]...)
	if len(lines) != 2 || lines[1].Line != 3 {
		t.Fatalf("%d lines are sent: %+v", len(lines), lines)
	}
}

// TestRejectsAreInOrder: the requests of a group are sent concurrently, and what was rejected in
// them and before them is shown in the order of the file, whichever of them fails.
func TestRejectsAreInOrder(t *testing.T) {
	var g group
	for n := 1; n <= 12; n++ {
		e := &andon.Event{Device: andon.DeviceID(fmt.Sprint(n)), Time: andon.MinTime, State: "X"}
		line := placed{Index: n, Line: n, Value: entry{Event: e}}
		if n%5 == 0 {
			line.Bad = errors.New("bad")
		}
		if !g.add(line, defaultBatch) {
			t.Fatalf("line %d is of another group", n)
		}
	}
	var out bytes.Buffer
	r := newReport("log.csv", &out, nil)
	for i := range g.lines {
		var result client.Result
		for n := range g.lines[i] {
			result.Rejected = append(result.Rejected, andon.Rejection{Index: n, Error: "no"})
		}
		r.count(kindEvents, g.lines[i], result)
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
		_ = yield(placed{Value: entry{Assign: &andon.Assignment{Device: "a"}}}, nil) &&
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

// TestAdvice: a flag that is advised is one of andon tenant set.
func TestAdvice(t *testing.T) {
	for _, kind := range []string{kindEvents, kindReadings, kindAll} {
		r := &report{expired: 1, isArchive: kind == kindAll}
		got := r.advice("default", kind)
		if strings.Contains(got, "--all-") || !strings.Contains(got, "-retention forever") {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
