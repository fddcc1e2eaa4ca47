package test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/storecheck"
)

// overHTTP is a server as scenarios ask it, by the client that users have.
type overHTTP struct {
	client *client.Client
	now    func() andon.Time // its clock
	store  storecheck.System // that it is on
}

func (o overHTTP) forTenant(id andon.TenantID) *client.Client { return o.client.ForTenant(id) }

// ahead is how far ahead of the server's clock the entries of a scenario may be.
const ahead = 20 * 365 * 24 * time.Hour

// list turns a list of the client into one of the domain.
func list[From, To any](from iter.Seq2[From, error], turn func(From) To) iter.Seq2[To, error] {
	return func(yield func(To, error) bool) {
		for item, err := range from {
			if !yield(turn(item), failure(err)) {
				return
			}
		}
	}
}

func same[T any](item T) T { return item }

// failure gives an answer of the server the kind of error that it means.
func failure(err error) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	if e.Status == http.StatusNotImplemented {
		return storecheck.NotAsked{Why: "this store can't serve it"}
	}
	if kind, ok := map[int]andon.Kind{
		http.StatusBadRequest: andon.Invalid, http.StatusNotFound: andon.NotFound,
		http.StatusConflict: andon.Conflict,
	}[e.Status]; ok {
		return andon.Errorf(kind, "%w", err)
	}
	return err
}

// Regroup is what a server does by itself.
func (o overHTTP) Regroup(
	context.Context, andon.TenantID, func(andon.DeviceID) uint32, []andon.DeviceID,
) error {
	return storecheck.NotAsked{Why: "a server groups devices by itself"}
}

// Capabilities is what every server may be asked; what this one's store can't serve is an answer of
// status 501.
func (o overHTTP) Capabilities() andon.Capabilities {
	return andon.Capabilities{
		Immediate: true, AtomicBatch: true, // the client asks again by itself
		Whole: true, SortDevices: true, MetricReadings: true,
		Withdraw: true, Purge: true, Reorder: true,
		CountNames: true, TenantEvents: true,
	}
}

func (o overHTTP) Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	t, err := o.client.Tenant(ctx, id)
	if err != nil {
		return andon.Tenant{}, failure(err)
	}
	states, err := andon.NewStateSet(t.States)
	return andon.Tenant{
		ID: id, Events: t.Retention.Events, Readings: t.Retention.Readings, States: states,
		MaxFuture: t.MaxFuture, SilentAfter: t.SilentAfter, LongestShelf: t.LongestShelf,
		Unknown: t.UnknownStates, Reordering: t.Reordering,
	}, err
}

func (o overHTTP) MakeTenant(ctx context.Context, id andon.TenantID) error {
	_, err := o.client.PutTenant(ctx, id, client.TenantChange{
		MaxFuture: new(andon.DurationOf(ahead)),
	})
	return failure(err)
}

func (o overHTTP) ChangeTenant(
	ctx context.Context, id andon.TenantID, change func(*andon.Tenant),
) error {
	t, err := o.Tenant(ctx, id)
	if err != nil {
		return err
	}
	change(&t)
	is, err := o.client.PutTenant(ctx, id, client.TenantChange{
		Retention: client.RetentionChange{Events: &t.Events, Readings: &t.Readings},
		MaxFuture: &t.MaxFuture, SilentAfter: &t.SilentAfter, LongestShelf: &t.LongestShelf,
		States: t.States.Defs(), UnknownStates: &t.Unknown,
	})
	for err == nil && is.Reordering {
		if err = sleep.For(ctx, 100*time.Millisecond); err == nil {
			is, err = o.client.Tenant(ctx, id)
		}
	}
	return failure(err)
}

func (o overHTTP) DeleteTenant(ctx context.Context, id andon.TenantID) error {
	return failure(o.client.DeleteTenant(ctx, id))
}

// Expire is asked of the store: a server gives back space for all tenants at once.
func (o overHTTP) Expire(ctx context.Context, id andon.TenantID) error {
	return o.store.Expire(ctx, id)
}

func (o overHTTP) Admit(
	ctx context.Context, id andon.TenantID, events []andon.Event,
) ([]andon.Rejection, error) {
	result, err := o.forTenant(id).AppendEvents(ctx, events)
	return result.Rejected, accounted(result, len(events), err)
}

// accounted reports where a request is not accounted for as a whole.
func accounted(r client.Result, sent int, err error) error {
	if err == nil && r.Accepted+len(r.Rejected) != sent {
		err = fmt.Errorf("of %d sent %d were accepted, %d rejected", sent, r.Accepted,
			len(r.Rejected))
	}
	return failure(err)
}

// taken reports what should not have been rejected.
func taken(r client.Result, sent int, err error) error {
	if err = accounted(r, sent, err); err == nil && len(r.Rejected) > 0 {
		err = andon.Errorf(andon.Invalid, "rejected: %s", r.Rejected[0].Error)
	}
	return err
}

func (o overHTTP) Append(
	ctx context.Context, id andon.TenantID, _ andon.Time, events []andon.Event,
) error {
	result, err := o.forTenant(id).AppendEvents(ctx, events)
	return taken(result, len(events), err)
}

func (o overHTTP) AppendReadings(
	ctx context.Context, id andon.TenantID, _ andon.Time, readings []andon.Reading,
) error {
	result, err := o.forTenant(id).AppendReadings(ctx, readings)
	return taken(result, len(readings), err)
}

func (o overHTTP) Assign(
	ctx context.Context, id andon.TenantID, _ andon.Time, all []andon.Assignment,
) ([]andon.Assignment, error) {
	result, err := o.forTenant(id).AssignMany(ctx, all)
	return nil, taken(result, len(all), err)
}

func (o overHTTP) Escalate(
	ctx context.Context, id andon.TenantID, e andon.Escalation,
) (andon.Escalation, bool, error) {
	if e.At != o.now() {
		return e, false, storecheck.NotAsked{Why: "a server gives an escalation its time"}
	}
	_, added, err := o.forTenant(id).Escalate(ctx, e)
	return andon.Escalation{}, added, failure(err)
}

func (o overHTTP) Retire(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, _ andon.Time,
) (andon.Time, error) {
	at, err := o.forTenant(id).Retire(ctx, device)
	return at, failure(err)
}

func (o overHTTP) Withdraw(
	ctx context.Context, id andon.TenantID, w andon.Withdrawal,
) (andon.Withdrawal, bool, error) {
	_, err := o.forTenant(id).Withdraw(ctx, w.Device, w.Time, w.State,
		client.Withdrawal{By: w.By, Note: w.Note})
	return w, true, failure(err)
}

func (o overHTTP) Purge(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) error {
	return failure(o.forTenant(id).Purge(ctx, device))
}

func (o overHTTP) Restore(ctx context.Context, id andon.TenantID, h andon.History) error {
	_, err := o.forTenant(id).Restore(ctx, h) // what is of no entry is rejected
	return failure(err)
}
