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

// wantResult reports where a request is not accounted for as wanted: how many were accepted, and
// the indexes of those that were rejected.
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
		check("2.3", "further ahead than max_future is rejected, to the microsecond",
			futureIsRejected),
		check("2.3", "older than the retention is rejected, to the microsecond",
			expiredIsRejected),
		check("2.3", "without a time it is the arrival, strictly increasing", arrivalTimes),
	}
}

func futureIsRejected(ctx context.Context, e *Env, id andon.TenantID) error {
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

func expiredIsRejected(ctx context.Context, e *Env, id andon.TenantID) error {
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

func arrivalTimes(ctx context.Context, e *Env, id andon.TenantID) error {
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
		check("2.11", "every entry of a request is accepted or rejected with its index",
			accounting),
		check("2.1", "in one request, an identity with other content is rejected",
			conflictInRequest),
		check("2.11", "a request with nothing valid keeps nothing", nothingValid),
		check("2.11", "a single object that is refused is an error", singleRefused),
		check("2.6", "the operator is resolved at admission", resolvedAtAdmission),
		check("2.7", "an escalation without an entry is of the current one", escalateCurrent),
	}
}

func accounting(ctx context.Context, e *Env, id andon.TenantID) error {
	long := andon.DeviceID(strings.Repeat("d", andon.MaxIDBytes+1))
	request := batchOf(
		andon.Event{Device: "d1", Time: e.Base, State: "NORMAL"},
		andon.Event{Device: "", Time: e.Base, State: "NORMAL"},
		andon.Event{Device: "d1", Time: e.Base + 1, State: "a,b"},
		andon.Event{Device: "d2", Time: e.Base, State: "WARNING1"},
		andon.Event{Device: "d\x00", Time: e.Base, State: "NORMAL"},
		andon.Event{Device: long, Time: e.Base, State: "NORMAL"},
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

func conflictInRequest(ctx context.Context, e *Env, id andon.TenantID) error {
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

func nothingValid(ctx context.Context, e *Env, id andon.TenantID) error {
	result, err := e.Intake.Events(ctx, id, batchOf(andon.Event{Device: "d1", Time: e.Base}))
	if err != nil {
		return err
	}
	if err := wantResult(result, 0, 0); err != nil {
		return err
	}
	return e.wantList(ctx, id, logOf("d1", options{}), nil)
}

func singleRefused(ctx context.Context, e *Env, id andon.TenantID) error {
	request := batchOf(andon.Event{Device: "d1", Time: e.Base, State: "*"})
	request.Single = true
	_, err := e.Intake.Events(ctx, id, request)
	return wantKind(andon.Invalid, err)
}

func resolvedAtAdmission(ctx context.Context, e *Env, id andon.TenantID) error {
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
	for operator, want := range map[string]string{"Liz": "d1/NORMAL@1m", "Tom": "d1/NORMAL@2m"} {
		of := operatorLog(operator, options{})
		if err := e.wantList(ctx, id, of, []string{want}); err != nil {
			return err
		}
	}
	return nil
}

func escalateCurrent(ctx context.Context, e *Env, id andon.TenantID) error {
	if err := e.append(ctx, id,
		andon.Event{Device: "d1", Time: e.Base, State: "WARNING1"},
		andon.Event{Device: "d1", Time: e.Base + 1, State: "WARNING2"},
	); err != nil {
		return err
	}
	err := e.Eventually(ctx, func() error {
		_, _, err := e.Intake.Escalate(ctx, id, andon.Escalation{Device: "d1", To: "Sara"})
		return err
	})
	if err != nil {
		return err
	}
	return e.wantList(ctx, id, supervisorLog("Sara", options{}), []string{"d1/WARNING2@1us"})
}
