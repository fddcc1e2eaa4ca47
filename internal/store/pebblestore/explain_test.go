package pebblestore

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// explained asks a question, and returns what its plan says by the beginning of each statement.
func explained(
	t *testing.T, ask func(context.Context) (int, error), answers int,
) map[string]andon.PlanStep {
	t.Helper()
	ctx, plan := andon.WithPlan(t.Context())
	n, err := ask(ctx)
	if n != answers || err != nil {
		t.Fatalf("%d answers, want %d; %v", n, answers, err)
	}
	steps := map[string]andon.PlanStep{}
	for _, s := range plan.Steps() {
		name, _, _ := strings.Cut(s.Statement, ":")
		steps[name] = s
	}
	return steps
}

// atMost checks how many keys were passed over and how many values were taken for an answer.
func atMost(t *testing.T, steps map[string]andon.PlanStep, name string, scanned, rows int) {
	t.Helper()
	s, ok := steps[name]
	if !ok || s.Scanned < 1 || s.Scanned > scanned || s.Rows > rows {
		t.Errorf("%s: %+v, want at most %d scanned and %d rows; all: %+v",
			name, s, scanned, rows, steps)
	}
}

const week = 7 * 24 * 3_600_000_000

// TestExplainOperator: the newest entry of an operator of 20,000 devices is found by a few of them.
func TestExplainOperator(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	const devices = 20_000
	all := make([]andon.Event, devices)
	for i := range all {
		all[i] = andon.Event{
			Device: andon.DeviceID(fmt.Sprintf("d%05d", i)), State: "NORMAL", Operator: "Liz",
			Time: andon.MinTime.Add(andon.Duration(i) * 100_000),
		}
	}
	ask := func(ctx context.Context) (int, error) {
		return howMany(s.OperatorEvents(ctx, andon.DefaultTenant, "Liz",
			andon.EventQuery{Limit: 1}))
	}
	if err := s.Append(t.Context(), andon.DefaultTenant, 1, all); err != nil {
		t.Fatal(err)
	}
	atMost(t, explained(t, ask, 1), "memory", 10, 10)
	if err := s.checkpoint(); err != nil {
		t.Fatal(err)
	}
	steps := explained(t, ask, 1)
	atMost(t, steps, "table p", 10, 10)
	atMost(t, steps, "table b", 20, 10)
	atMost(t, steps, "entries within blocks or rows", 10, 10)
}

// TestExplainRareDevice: of a device with an entry a week as many blocks are read as it answers
// entries, and one more, however many others there are.
func TestExplainRareDevice(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	var all []andon.Event
	for n := range andon.Duration(100) {
		for d := range 20 {
			if d == 0 || n%10 == 0 {
				all = append(all, andon.Event{
					Device: andon.DeviceID(fmt.Sprintf("d%02d", d)), State: "NORMAL",
					Time: andon.MinTime.Add(n * week),
				})
			}
		}
	}
	err := s.Append(t.Context(), andon.DefaultTenant, 1, andon.SortBatch(all))
	if err := firstError(err, s.checkpoint(), s.db.Flush()); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 10} {
		steps := explained(t, func(ctx context.Context) (int, error) {
			return howMany(s.DeviceEvents(ctx, andon.DefaultTenant, "d00",
				andon.EventQuery{Limit: limit}))
		}, limit)
		atMost(t, steps, "table i", limit+1, 0)
		atMost(t, steps, "table b", 2*limit+1, limit+1)
		atMost(t, steps, "entries within blocks or rows", limit+1, limit)
		if steps["table b"].Bytes == 0 {
			t.Errorf("no bytes were read: %+v", steps)
		}
	}
	steps := explained(t, func(ctx context.Context) (int, error) {
		return howMany(s.Devices(ctx, andon.DefaultTenant, andon.DeviceQuery{
			Prefix: "d0", Limit: 5, Brief: true,
		}))
	}, 5)
	atMost(t, steps, "memory", 6, 5)
	steps = explained(t, func(ctx context.Context) (int, error) {
		part, err := s.Arrivals(ctx, andon.DefaultTenant, andon.ArrivalQuery{Limit: 7})
		return len(part.Items), err
	}, 7)
	atMost(t, steps, "table g", 1, 1)
}
