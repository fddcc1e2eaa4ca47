package storecheck

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/intake"
)

// batchOf makes a request of entries, as a decoder of NDJSON would with no blank lines.
func batchOf[T any](values ...T) ingest.Batch[T] {
	var b ingest.Batch[T]
	for i, v := range values {
		b.Items = append(b.Items, ingest.Item[T]{Value: v, Index: i, Line: i + 1})
	}
	return b
}

// wantResult reports where a request is not accounted for as wanted: how many were accepted, and the
// indexes of those that were rejected.
func wantResult(got intake.Result, accepted int, rejected ...int) error {
	var indexes []int
	for _, r := range got.Rejected {
		indexes = append(indexes, r.Index)
	}
	if got.Accepted != accepted || !slices.Equal(indexes, rejected) {
		return fmt.Errorf("accepted %d and rejected %+v, want %d accepted and %v rejected",
			got.Accepted, got.Rejected, accepted, rejected)
	}
	return nil
}

// timeChecks: which times are admitted, and which time an entry gets that has none.
func timeChecks() []Check {
	return []Check{
		{"further ahead than max_future is rejected, to the microsecond", "2.3", futureIsRejected},
		{"older than the retention is rejected, to the microsecond", "2.3", expiredIsRejected},
		{"without a time it is the arrival, strictly increasing", "2.3", arrivalTimes},
		inScenario("2.3", "durations are never negative", `
			now 1m
			at 9m d1 WARNING1
			expect since d1 9m
			expect received d1 1m
			expect intervals d1: WARNING1@9m..
		`),
		inScenario("2.3", "times far from each other are kept", `
			at -18000d d1 NORMAL
			at 1000d d1 WARNING1
			expect log d1: WARNING1@1000d NORMAL@-18000d
			expect since d1 1000d
		`),
	}
}

func futureIsRejected(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	const tenMinutes = 10 * 60 * 1_000_000
	latest := e.Base.Add(tenMinutes)
	result, err := e.Intake.Events(ctx, id, batchOf(
		andon.Event{Device: "d1", Time: latest, State: "NORMAL"},
		andon.Event{Device: "d1", Time: latest + 1, State: "WARNING1"},
	))
	if err != nil {
		return err
	}
	if err := wantResult(result, 1, 1); err != nil {
		return err
	}
	return e.wantList(ctx, id, logOf("d1", options{}), []string{"NORMAL@10m"})
}

func expiredIsRejected(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	const hour = 60 * 60 * 1_000_000
	setHour := changeTenant(func(t *andon.Tenant) { t.Events, t.Readings = hour, hour })
	if err := setHour(ctx, e); err != nil {
		return err
	}
	oldest := e.Base - hour
	result, err := e.Intake.Events(ctx, id, batchOf(
		andon.Event{Device: "d1", Time: oldest - 1, State: "WARNING1"},
		andon.Event{Device: "d1", Time: oldest, State: "NORMAL"},
	))
	if err == nil {
		err = wantResult(result, 1, 0)
	}
	if err != nil {
		return err
	}
	one := andon.Metrics{{Name: "a", Value: 1}}
	result, err = e.Intake.Readings(ctx, id, batchOf(
		andon.Reading{Device: "d1", Time: oldest, Metrics: one},
		andon.Reading{Device: "d1", Time: oldest - 1, Metrics: one},
	))
	if err != nil {
		return err
	}
	if err := wantResult(result, 1, 1); err != nil {
		return err
	}
	if err := e.wantList(ctx, id, readingsOf("d1", options{}), []string{"-1h{a=1}"}); err != nil {
		return err
	}
	return e.wantList(ctx, id, logOf("d1", options{}), []string{"NORMAL@-1h"})
}

func arrivalTimes(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	untimed := andon.Event{Device: "d1", State: "NORMAL"}
	for range 2 {
		result, err := e.Intake.Events(ctx, id, batchOf(untimed, untimed))
		if err == nil {
			err = wantResult(result, 2)
		}
		if err != nil {
			return err
		}
	}
	want := []string{"NORMAL@0s", "NORMAL@1us", "NORMAL@2us", "NORMAL@3us"}
	return e.wantList(ctx, id, logOf("d1", options{order: andon.Asc}), want)
}

// admissionChecks: every entry of a request is accounted for.
func admissionChecks() []Check {
	return []Check{
		{"every entry of a request is accepted or rejected with its index", "2.11", accounting},
		{"the same identity with other content in one request is rejected", "2.1", conflictInRequest},
		{"a request with nothing valid keeps nothing", "2.11", nothingValid},
		{"a single object that is refused is an error", "2.11", singleRefused},
		{"the operator is resolved at admission", "2.6", resolvedAtAdmission},
		{"an escalation without an entry is of the current one", "2.7", escalateCurrent},
	}
}

func accounting(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	request := batchOf(
		andon.Event{Device: "d1", Time: e.Base, State: "NORMAL"},
		andon.Event{Device: "", Time: e.Base, State: "NORMAL"},
		andon.Event{Device: "d1", Time: e.Base + 1, State: "a,b"},
		andon.Event{Device: "d2", Time: e.Base, State: "WARNING1"},
		andon.Event{Device: "d\x00", Time: e.Base, State: "NORMAL"},
		andon.Event{Device: andon.DeviceID(strings.Repeat("d", 129)), Time: e.Base, State: "NORMAL"},
	)
	request.Rejected = []andon.Rejection{{Index: 6, Line: 7, Error: "not an object"}}
	result, err := e.Intake.Events(ctx, id, request)
	if err != nil {
		return err
	}
	if err := wantResult(result, 2, 1, 2, 4, 5, 6); err != nil {
		return err
	}
	return e.wantList(ctx, id, devicesIn(andon.StateFilter{}, options{}), []string{"d1", "d2"})
}

func conflictInRequest(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	one := andon.Event{Device: "d1", Time: e.Base, State: "NORMAL", Message: "one"}
	two := one
	two.Message = "two"
	other := one
	other.State = "WARNING1"
	result, err := e.Intake.Events(ctx, id, batchOf(other, one, two, one))
	if err != nil {
		return err
	}
	if err := wantResult(result, 3, 2); err != nil {
		return err
	}
	if reason := result.Rejected[0].Error; !strings.Contains(reason, "1") {
		return fmt.Errorf("the rejection %q does not name the first entry, 1", reason)
	}
	return e.Eventually(ctx, func() error {
		entry, err := e.Store.Entry(ctx, id, "d1", e.Base, "NORMAL")
		if err == nil && entry.Message != "one" {
			err = fmt.Errorf("the entry has message %q, not that of the first", entry.Message)
		}
		return err
	})
}

func nothingValid(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	result, err := e.Intake.Events(ctx, id, batchOf(andon.Event{Device: "d1", Time: e.Base}))
	if err != nil {
		return err
	}
	if err := wantResult(result, 0, 0); err != nil {
		return err
	}
	return e.wantList(ctx, id, logOf("d1", options{}), nil)
}

func singleRefused(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	request := batchOf(andon.Event{Device: "d1", Time: e.Base, State: "*"})
	request.Single = true
	_, err = e.Intake.Events(ctx, id, request)
	return wantKind(andon.Invalid, err)
}

func resolvedAtAdmission(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	const minute = 60 * 1_000_000
	assign := []andon.Assignment{{Device: "d1", Operator: "Liz"}}
	if _, err := e.Intake.Assign(ctx, id, assign); err != nil {
		return err
	}
	e.SetNow(e.Base + 5*minute)
	result, err := e.Intake.Events(ctx, id, batchOf(
		andon.Event{Device: "d1", Time: e.Base + minute, State: "NORMAL"},
		andon.Event{Device: "d1", Time: e.Base + 2*minute, State: "NORMAL", Operator: "Tom"},
		andon.Event{Device: "d1", Time: e.Base - minute, State: "NORMAL"},
	))
	if err == nil {
		err = wantResult(result, 3)
	}
	if err != nil {
		return err
	}
	if err := e.wantList(ctx, id, operatorLog("Liz", options{}), []string{"d1/NORMAL@1m"}); err != nil {
		return err
	}
	return e.wantList(ctx, id, operatorLog("Tom", options{}), []string{"d1/NORMAL@2m"})
}

func escalateCurrent(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	if err := e.append(ctx, id,
		andon.Event{Device: "d1", Time: e.Base, State: "WARNING1"},
		andon.Event{Device: "d1", Time: e.Base + 1, State: "WARNING2"},
	); err != nil {
		return err
	}
	err = e.Eventually(ctx, func() error {
		_, err := e.Intake.Escalate(ctx, id, andon.Escalation{Device: "d1", To: "Sara"})
		return err
	})
	if err != nil {
		return err
	}
	return e.wantList(ctx, id, supervisorLog("Sara", options{}), []string{"d1/WARNING2@1us"})
}
