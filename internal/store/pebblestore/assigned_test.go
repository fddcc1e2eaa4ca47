package pebblestore

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

const assignedHour = andon.Time(3_600_000_000)

// TestAssignedMeanwhile: an append that was worked out before an assignment came in, or one was
// restored, and that stages after it, keeps its entry for who is assigned now.
func TestAssignedMeanwhile(t *testing.T) {
	base := andon.DayStart(20_000)
	liz := andon.Assignment{Device: "d", Operator: "Liz", From: base + assignedHour}
	tom := andon.Assignment{Device: "d", Operator: "Tom", From: base + 3*assignedHour}
	for name, c := range map[string]struct {
		before []andon.Assignment
		change func(context.Context, *Store) error
	}{
		"assigned": {nil, func(ctx context.Context, s *Store) error {
			_, err := s.Assign(ctx, andon.DefaultTenant, liz.From, []andon.Assignment{liz})
			return err
		}},
		"restored before another": {
			[]andon.Assignment{tom}, func(ctx context.Context, s *Store) error {
				h := andon.History{Assignments: []andon.Assignment{liz}}
				return s.Restore(ctx, andon.DefaultTenant, h)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			s := openMem(t, fs)
			h := andon.History{Assignments: c.before}
			must(t, s.Restore(t.Context(), andon.DefaultTenant, h))
			event := andon.Event{Device: "d", Time: base + 2*assignedHour, State: "NORMAL"}
			changed, appended := make(chan error, 1), make(chan error, 1)
			must(t, s.ordered(t.Context(), func() error { // both are worked out, and wait
				first := &waiting{Context: t.Context(), waits: make(chan struct{})}
				go func() { changed <- c.change(first, s) }()
				<-first.waits
				awaitPlace() // before the second
				second := &waiting{Context: t.Context(), waits: make(chan struct{})}
				go func() {
					appended <- s.Append(second, andon.DefaultTenant, 1, []andon.Event{event})
				}()
				<-second.waits
				return nil
			}))
			must(t, <-changed)
			must(t, <-appended)
			wantOperator(t, s, &event)
			s, _ = crashed(t, s, fs)
			defer s.Close()
			wantOperator(t, s, &event)
		})
	}
}

// awaitPlace returns once a goroutine has its place among those that wait for the ordered section.
// A context is asked whether it ended shortly before.
func awaitPlace() {
	stacks := make([]byte, 1<<20)
	for {
		all := string(stacks[:runtime.Stack(stacks, true)])
		for one := range strings.SplitSeq(all, "\n\n") {
			head, rest, _ := strings.Cut(one, "\n")
			if strings.Contains(head, "[select") && strings.Contains(rest, "pipeline.acquire(") {
				return
			}
		}
		runtime.Gosched()
	}
}

// wantOperator wants an entry to be of Liz, wherever it is asked for.
func wantOperator(t *testing.T, s *Store, event *andon.Event) {
	t.Helper()
	e, err := s.Entry(t.Context(), andon.DefaultTenant, event.Device, event.Time, event.State)
	if err != nil || e.Operator != "Liz" {
		t.Errorf("the entry is of %q, %v", e.Operator, err)
	}
	n, q := 0, andon.EventQuery{Limit: 2}
	for _, err := range s.OperatorEvents(t.Context(), andon.DefaultTenant, "Liz", q) {
		must(t, err)
		n++
	}
	if n != 1 {
		t.Errorf("Liz has %d entries", n)
	}
}
