package transfer

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/ingest"
)

// TestFoldKeepsEscalations: lines of one entry are sent as one, unless that would lose whom the
// earlier one was escalated to.
func TestFoldKeepsEscalations(t *testing.T) {
	var p parcel[andon.Event]
	put := func(line int, message, to string, want folding) {
		t.Helper()
		item := ingest.Item[andon.Event]{Index: line - 2, Line: line, Value: andon.Event{
			Device: "d", Time: andon.MinTime, State: "NORMAL", Message: message,
			EscalatedTo: andon.PersonID(to),
		}}
		got := foldEvent(&p, &item)
		if got != want {
			t.Errorf("line %d: %d, want %d", line, got, want)
		}
		if got == another {
			p.items = append(p.items, item)
		}
	}
	put(2, "one", "", another)
	put(3, "one", "", folded)
	put(4, "two", "Sara", folded)
	put(5, "three", "Sara", folded)
	put(6, "three", "Tom", ofAnotherRequest)
	put(7, "three", "", ofAnotherRequest)
	got := p.counted(client.Result{Accepted: 1, New: 1})
	want := outcomes{accepted: 4, fresh: 1, unchanged: 1, replaced: 2, twin: twin{3, 4}}
	if got != want {
		t.Errorf("counted %+v", got)
	}
	rejected := p.reject(andon.Rejection{Index: 0, Error: "no"})
	if len(rejected) != 4 || rejected[0].Line != 5 || rejected[3].Line != 4 {
		t.Errorf("rejected %+v", rejected)
	}
	got = p.counted(client.Result{})
	if got.accepted+got.replaced+got.unchanged != 0 {
		t.Errorf("of rejected lines counted %+v", got)
	}
}

// TestRejectsStandInOrder: parcels end in any order, and their lines are shown in that of the file.
func TestRejectsStandInOrder(t *testing.T) {
	var out bytes.Buffer
	r, err := newReport(importOptions{file: "log.csv"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	lines := func(all ...int) (rejected []andon.Rejection) {
		for _, n := range all {
			rejected = append(rejected, andon.Rejection{Index: n, Line: n, Error: "no"})
		}
		return rejected
	}
	shows := func(want string) {
		t.Helper()
		got := strings.ReplaceAll(strings.ReplaceAll(out.String(), "log.csv:", ""), ": no\n", " ")
		if got != want {
			t.Errorf("it shows %q, want %q", got, want)
		}
	}
	five := outcomes{accepted: 5}
	for number, first := range []int{1, 6, 10, 11, 12} {
		r.begin(number, first)
	}
	r.end(1, five, lines(7, 6))
	r.refuse(lines(8))
	shows("")
	r.end(0, five, lines(3, 1, 2))
	shows("1 2 3 6 7 8 ")
	r.end(4, five, lines(12))
	r.end(3, five, lines(11))
	shows("1 2 3 6 7 8 ")
	r.showRest() // parcel 2 was lost
	shows("1 2 3 6 7 8 11 12 ")
	if accepted, rejected := r.counts(); accepted != 20 || rejected != 8 {
		t.Errorf("accepted %d, rejected %d", accepted, rejected)
	}
}

// TestRejectsAreLegible: a reason may quote the file, whose control characters must not reach a
// terminal.
func TestRejectsAreLegible(t *testing.T) {
	var out bytes.Buffer
	r, err := newReport(importOptions{file: "log.csv"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	r.refuse([]andon.Rejection{{Line: 2, Error: "not \x1b[31mred\n"}})
	if want := "log.csv:2: not  [31mred \n"; out.String() != want {
		t.Errorf("it shows %q, want %q", out.String(), want)
	}
}

// TestStrangeStatesAreFew: of states that are none no more is kept and shown than a person reads.
func TestStrangeStatesAreFew(t *testing.T) {
	var s strangeStates
	s.learn(andon.DefaultStates().Defs())
	s.addAll([]andon.Event{{State: "NORMAL"}, {State: "ODD"}, {State: "BAD"}},
		client.Result{Rejected: []andon.Rejection{{Index: 2}}})
	want := "1 state is not in tenant metro's set and has severity 16: ODD; " +
		"see andon tenant set --help\n"
	if got := s.note("metro"); got != want {
		t.Errorf("got %s", got)
	}
	for i := range 2 * keptStrange {
		s.addAll([]andon.Event{{State: andon.State(fmt.Sprintf("%04d", i))}}, client.Result{})
	}
	want = "1000 states or more are not in tenant metro's set and have severity 16: " +
		"0000, 0001, 0002, 0003, 0004, …; see andon tenant set --help\n"
	if got := s.note("metro"); got != want || len(s.names) != keptStrange {
		t.Errorf("got %s", got)
	}
}
