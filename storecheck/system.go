package storecheck

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
)

// System is what a scenario asks: a store with admission, or a server over HTTP. What it can't be
// asked has a NotAsked error.
type System interface {
	Contracts
	Tenancy

	// Admit stores events as a client sends them, and returns those that are rejected. One without
	// a time is of the time of its arrival.
	Admit(
		ctx context.Context, id andon.TenantID, events []andon.Event,
	) ([]andon.Rejection, error)

	// Intervals returns the runs of a device.
	Intervals(
		ctx context.Context, tenant andon.TenantID, device andon.DeviceID, q andon.EventQuery,
	) iter.Seq2[andon.Interval, error]

	// Capabilities is what the system declares to serve.
	Capabilities() andon.Capabilities
}

// Contracts are those of a store. Lists are whole: the Limit of a query is the size of the pages in
// which they are read.
type Contracts interface {
	andon.Log
	andon.Current
	andon.Corrections
	andon.Readings
	andon.Assignments
	andon.Restorer
}

// Tenancy is what a scenario does with its tenants.
type Tenancy interface {
	// Tenant returns the settings of a tenant.
	Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error)
	// MakeTenant makes a tenant. A server's admits any time ahead of the clock.
	MakeTenant(ctx context.Context, id andon.TenantID) error
	// ChangeTenant changes settings, and returns once all that is shown is by them.
	ChangeTenant(ctx context.Context, id andon.TenantID, change func(*andon.Tenant)) error
	// DeleteTenant removes a tenant; NotFound when there is none.
	DeleteTenant(ctx context.Context, id andon.TenantID) error
	// Expire reclaims the space of what has expired of one tenant.
	Expire(ctx context.Context, id andon.TenantID) error
}

// NotAsked says why something could not be asked of a system. It is no failure, and no success.
type NotAsked struct{ Why string }

func (e NotAsked) Error() string { return "not asked: " + e.Why }

func isNotAsked(err error) bool {
	_, is := errors.AsType[NotAsked](err)
	return is
}

// errUndeclared ends an expectation about what the store has declared that it can't serve, and a
// scenario that needs it.
var errUndeclared = NotAsked{"the store declares that it can't serve this"}

// local is a store in this process as a System.
type local struct {
	Whole
	store  andon.Store // itself, whose tenants may not be changed
	intake *intake.Intake
	now    func() andon.Time
}

func (l local) MakeTenant(ctx context.Context, id andon.TenantID) error {
	return unlessWhole(l.Store, second(l.store.PutTenant(ctx, andon.NewTenant(id))))
}

func (l local) Admit(
	ctx context.Context, id andon.TenantID, events []andon.Event,
) ([]andon.Rejection, error) {
	result, err := l.intake.Events(ctx, id, intake.RequestOf(events))
	if err == nil && result.Accepted+len(result.Rejected) != len(events) {
		err = fmt.Errorf("of %d events %d were accepted and %d rejected",
			len(events), result.Accepted, len(result.Rejected))
	}
	return result.Rejected, err
}

// Escalate takes the entry that the device shows now where none is named.
func (l local) Escalate(
	ctx context.Context, id andon.TenantID, e andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	escalate := l.Whole.Escalate
	if e.Time == 0 {
		escalate = l.intake.Escalate
	}
	kept, added, err = escalate(ctx, id, e)
	return kept, added, unlessWhole(l.Store, err)
}

// ChangeTenant brings the floor of the tenant up to date, as admission does.
func (l local) ChangeTenant(
	ctx context.Context, id andon.TenantID, change func(*andon.Tenant),
) error {
	t, _, err := l.intake.PutTenant(ctx, id, func(t *andon.Tenant) error {
		change(t)
		return nil
	})
	for err == nil && t.Reordering { // it continues after the call
		t, err = l.Reorder(ctx, id)
	}
	return err
}

// Expire updates the floor of a tenant at now and has the store delete what is older. Only of
// this one tenant: the clock of the Env may be far ahead of the user's.
func (l local) Expire(ctx context.Context, id andon.TenantID) error {
	t, err := l.Tenant(ctx, id)
	if err != nil {
		return err
	}
	events, readings, err := l.Had(ctx, id)
	if err != nil {
		return err
	}
	t.UpdateFloor(l.now(), events, readings)
	if t, err = l.PutTenant(ctx, t); err != nil {
		return err
	}
	return l.Store.Expire(ctx, id, t.Floor)
}
