package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// explained runs a query, and returns what its plan says by the beginning of each statement.
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

// TestExplainOperator: the newest entries of an operator of 20,000 devices, now or up to when an
// hour begins, are found by a few devices.
func TestExplainOperator(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	const devices, hours = 20_000, 2
	for hour := range andon.Duration(hours) {
		all := make([]andon.Event, devices)
		for i := range all {
			all[i] = andon.Event{
				Device: andon.DeviceID(fmt.Sprintf("d%05d", i)), State: "NORMAL", Operator: "Liz",
				Time: andon.MinTime.Add(hour*3_600_000_000 + andon.Duration(i)*100_000),
			}
		}
		if err := s.Append(t.Context(), andon.DefaultTenant, 1, all); err != nil {
			t.Fatal(err)
		}
	}
	queries := []andon.EventQuery{
		{Limit: 1}, {Limit: 1, Order: andon.Asc},
		{Limit: 3, Span: andon.Span{To: andon.MinTime.Add(3_600_000_000)}},
		{Limit: 3, Order: andon.Asc, Span: andon.Span{From: andon.MinTime.Add(1_999_900_000)}},
	}
	for _, flushed := range []bool{false, true} {
		for _, q := range queries {
			steps := explained(t, func(ctx context.Context) (int, error) {
				return howMany(s.OperatorEvents(ctx, andon.DefaultTenant, "Liz", q))
			}, q.Limit)
			if !flushed {
				atMost(t, steps, "memory", 20, 10)
				continue
			}
			atMost(t, steps, "table p", 20, 20)
			atMost(t, steps, "table B", 20, 10)
			atMost(t, steps, "entries within blocks or rows", 20, 10)
		}
		if err := s.flushDue(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExplainSupervisor: each entry of a supervisor's list is one block and one escalation. One
// iterator reads all blocks, and one all escalations.
func TestExplainSupervisor(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	const devices, rounds, limit = 500, 3, 20
	for round := range andon.Duration(rounds) {
		all := make([]andon.Event, devices)
		for i := range all {
			all[i] = andon.Event{
				Device: andon.DeviceID(fmt.Sprintf("d%03d", i)), State: "WARNING1",
				Time: andon.MinTime.Add(round*300_000_000 + andon.Duration(i*7%devices)),
			}
			if i%5 == 0 {
				all[i].EscalatedTo = "Sara"
			}
		}
		err := s.Append(t.Context(), andon.DefaultTenant, 1, all)
		if err := errors.Join(err, s.flushDue()); err != nil {
			t.Fatal(err)
		}
	}
	steps := explained(t, func(ctx context.Context) (int, error) {
		return howMany(s.SupervisorEvents(ctx, andon.DefaultTenant, "Sara",
			andon.EventQuery{Limit: limit}))
	}, limit)
	atMost(t, steps, "table s", limit+1, 0)
	atMost(t, steps, "table y", 3*limit, 0)
	atMost(t, steps, "table B", 5*limit, limit)
	atMost(t, steps, "entries within blocks or rows", limit, limit)
	for name, step := range steps {
		if step.Times > 1 {
			t.Errorf("%s was begun %d times: %+v", name, step.Times, step)
		}
	}
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
	if err := errors.Join(err, s.flushDue(), s.db.Flush()); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 10} {
		steps := explained(t, func(ctx context.Context) (int, error) {
			return howMany(s.DeviceEvents(ctx, andon.DefaultTenant, "d00",
				andon.EventQuery{Limit: limit}))
		}, limit)
		atMost(t, steps, "table i", limit+1, 0)
		atMost(t, steps, "table B", 2*limit+1, limit+1)
		atMost(t, steps, "entries within blocks or rows", limit+1, limit)
		if steps["table B"].Bytes == 0 {
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
