package intake

import (
	"context"

	"github.com/andonhq/andon"
)

func (in *Intake) restore(
	ctx context.Context, tenant andon.TenantID, h andon.History,
) (Result, error) {
	t, err := in.store.Tenant(ctx, tenant)
	if err != nil {
		return Result{}, err
	}
	r := restoring{latest: in.options.Now().Add(t.MaxFuture + 1)}
	h.Assignments = kept(&r, h.Assignments, func(a *andon.Assignment) error {
		if err := CheckAssignment(a); err != nil {
			return err
		}
		return r.time("body.from", a.From)
	})
	h.Escalations = kept(&r, h.Escalations, func(e *andon.Escalation) error {
		if err := checkEscalation(e); err != nil {
			return err
		}
		if err := r.time("body.time", e.Time); err != nil {
			return err
		}
		if err := r.time("body.at", e.At); err != nil {
			return err
		}
		_, err := in.store.Entry(ctx, tenant, e.Device, e.Time, e.State)
		return err
	})
	h.Retirements = kept(&r, h.Retirements, func(x *andon.Retirement) error {
		if err := x.Device.Validate(); err != nil {
			return err
		}
		return r.time("body.retired", x.At)
	})
	if r.failed != nil {
		return Result{}, r.failed
	}
	if err := in.store.Restore(ctx, tenant, h); err != nil {
		return Result{}, err
	}
	return Result{Accepted: r.at - len(r.rejected), Rejected: r.rejected}, nil
}

type restoring struct {
	latest   andon.Time
	at       int // how many were looked at
	rejected []andon.Rejection
	failed   error // of the store, which says nothing of the history
}

func (r *restoring) time(location string, t andon.Time) error {
	if t < andon.MinTime || t > r.latest {
		return andon.AtField(location, "time %s is not from %s to %s", t, andon.MinTime, r.latest)
	}
	return nil
}

// kept returns the items that check finds nothing wrong with.
func kept[T any](r *restoring, items []T, check func(*T) error) (right []T) {
	for i := range items {
		err := check(&items[i])
		kind := andon.KindOf(err)
		switch {
		case err == nil:
			right = append(right, items[i])
		case kind == andon.Invalid || kind == andon.NotFound:
			r.rejected = append(r.rejected, andon.Rejection{Index: r.at, Error: err.Error()})
		case r.failed == nil:
			r.failed = err
		}
		r.at++
	}
	return right
}
