package intake

import (
	"context"
	"errors"
	"fmt"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

// changeTenant is PutTenant, also for what the program itself keeps in the record.
func (in *Intake) changeTenant(
	ctx context.Context, id andon.TenantID, change func(*andon.Tenant) error,
) (t andon.Tenant, created bool, err error) {
	if err := id.Validate(); err != nil {
		return andon.Tenant{}, false, andon.AtField("path.tenant", "%s", err)
	}
	t, created, err = in.putTenant(ctx, id, change)
	if err == nil && t.Reordering {
		// Others write meanwhile. Who asked may leave: what was begun is ended. On a shared store
		// it may go on after this.
		t, err = in.store.Reorder(context.WithoutCancel(ctx), id)
	}
	return t, created, err
}

func (in *Intake) putTenant(
	ctx context.Context, id andon.TenantID, change func(*andon.Tenant) error,
) (t andon.Tenant, created bool, err error) {
	for {
		t, created, err := in.readOrNew(ctx, id)
		if err != nil {
			return andon.Tenant{}, false, err
		}
		was := t.Horizon(in.believed())
		if err := change(&t); err != nil {
			return andon.Tenant{}, false, err
		}
		kept, err := in.store.PutTenant(ctx, t)
		if err == nil {
			in.shortened(was, kept.Horizon(in.believed()))
			return kept, created, nil
		}
		if !in.overtaken(ctx, err, t) {
			return andon.Tenant{}, false, err
		}
	}
}

// readOrNew returns the record of a tenant with its floor up to date: what has expired under the
// settings so far stays expired under the new ones.
func (in *Intake) readOrNew(ctx context.Context, id andon.TenantID) (andon.Tenant, bool, error) {
	t, err := in.store.Tenant(ctx, id)
	switch {
	case err != nil && andon.KindOf(err) == andon.NotFound:
		return andon.NewTenant(id), true, nil
	case err != nil:
		return andon.Tenant{}, false, err
	}
	events, readings, err := in.store.Had(ctx, id)
	if err != nil {
		return andon.Tenant{}, false, err
	}
	t.UpdateFloor(in.believed(), events, readings)
	return t, false, nil
}

// shortened asks for a sweep where less is kept than before: a shorter retention may be set because
// space is needed.
func (in *Intake) shortened(was, is andon.Horizon) {
	if is.Events.Day() > was.Events.Day() || is.Readings.Day() > was.Readings.Day() {
		sleep.Wake(in.wanted)
	}
}

// Wanted says that there is something to expire before the next sweep is due.
func (in *Intake) Wanted() <-chan struct{} { return in.wanted }

// overtaken reports whether a record was refused because another writer had changed it meanwhile.
func (in *Intake) overtaken(ctx context.Context, refused error, tried andon.Tenant) bool {
	if andon.KindOf(refused) != andon.Conflict {
		return false
	}
	now, err := in.store.Tenant(ctx, tried.ID)
	if err != nil {
		return andon.KindOf(err) == andon.NotFound && tried.Version != 0
	}
	return now.Version != tried.Version
}

// Due is how far the horizon of a tenant has moved since it was last written down: what is older
// may go. 0 where nothing more has expired than has gone already. Where the store's engine deletes
// in its own time, it is the horizon itself.
type Due struct {
	Tenant  andon.TenantID
	Horizon andon.Horizon
	Deleted int64 // by Sweep
}

// Due returns the tenants of which a whole day or more has expired.
func (in *Intake) Due(ctx context.Context) (all []Due, err error) {
	tenants, err := in.store.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	of := in.due
	if in.store.Capabilities().SlowExpiry {
		of = in.floor
	}
	for _, t := range tenants {
		h, err := of(ctx, t)
		if err != nil {
			return nil, err
		}
		if h != (andon.Horizon{}) {
			all = append(all, Due{Tenant: t.ID, Horizon: h})
		}
	}
	return all, nil
}

// due returns how far the horizon of a tenant has moved by whole days.
func (in *Intake) due(ctx context.Context, t andon.Tenant) (h andon.Horizon, err error) {
	is, err := in.floor(ctx, t)
	if err != nil {
		return h, err
	}
	_, err = in.store.Record(ctx, t.ID, unsweptKind, unsweptID)
	failed := err == nil
	if err = andon.Ignore(err, andon.NotFound, andon.Unsupported); err != nil {
		return h, err
	}
	if failed || is.Events.Day() > t.Floor.Events.Day() {
		h.Events = is.Events
	}
	if failed || is.Readings.Day() > t.Floor.Readings.Day() {
		h.Readings = is.Readings
	}
	return h, nil
}

func (in *Intake) floor(ctx context.Context, t andon.Tenant) (h andon.Horizon, err error) {
	events, readings, err := in.store.Had(ctx, t.ID)
	if err != nil {
		return h, andon.Ignore(err, andon.NotFound)
	}
	t.UpdateFloor(in.believed(), events, readings)
	return t.Floor, nil
}

// Sweep is Expire that says what went, and deletes it at once where the store's engine would delete
// it in its own time. dryRun only says what would go.
func (in *Intake) Sweep(ctx context.Context, dryRun bool) ([]Due, error) {
	all, err := in.Due(ctx)
	if err != nil || dryRun {
		return all, err
	}
	if err := in.Expire(ctx); err != nil || !in.store.Capabilities().SlowExpiry {
		return all, err
	}
	for i := range all {
		if err := in.sweep(ctx, &all[i]); andon.Ignore(err, andon.NotFound) != nil {
			return all, fmt.Errorf("sweep tenant %q: %w", all[i].Tenant, err)
		}
	}
	return all, nil
}

// sweep deletes what a tenant has before its horizon, which goes into the record first.
func (in *Intake) sweep(ctx context.Context, d *Due) error {
	updated, _, err := in.changeTenant(ctx, d.Tenant, stillThere)
	if err != nil {
		return err
	}
	d.Horizon = updated.Floor
	d.Deleted, err = in.store.Sweep(ctx, d.Tenant, d.Horizon)
	return err
}

// Expire gives back the space of what has expired, for all tenants. One that fails does not keep
// the others from it.
func (in *Intake) Expire(ctx context.Context) error {
	tenants, err := in.store.Tenants(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, t := range tenants {
		if err := in.expireTenant(ctx, t); err != nil {
			failed = append(failed, fmt.Errorf("sweep tenant %q: %w", t.ID, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// A record of that kind is there while a tenant is swept, whose own record says by then that all
// has gone. A sweep that failed, or whose process was killed, is done again because of it.
const (
	unsweptKind andon.RecordKind = "unswept"
	unsweptID   string           = "events and readings"
)

// expireTenant writes the horizon into the record first: what may be gone must not be promised
// again, whatever the retention or the clock says later.
func (in *Intake) expireTenant(ctx context.Context, t andon.Tenant) error {
	h, err := in.due(ctx, t)
	if err != nil || h == (andon.Horizon{}) {
		return err
	}
	ctx = andon.Freeing(ctx)
	note := andon.Record{Tenant: t.ID, Kind: unsweptKind, ID: unsweptID, Data: "{}"}
	_, err = in.store.PutRecord(ctx, note)
	if err = andon.Ignore(err, andon.Conflict, andon.Unsupported); err == nil {
		t, _, err = in.changeTenant(ctx, t.ID, stillThere)
	}
	if err == nil {
		err = in.store.Expire(ctx, t.ID, t.Floor)
	}
	if err == nil {
		if note, err = in.store.Record(ctx, t.ID, unsweptKind, unsweptID); err == nil {
			err = in.store.DeleteRecord(ctx, note)
		}
		err = andon.Ignore(err, andon.Conflict, andon.Unsupported)
	}
	return andon.Ignore(err, andon.NotFound)
}

// stillThere changes nothing, and keeps a tenant that was deleted meanwhile from being made again.
func stillThere(t *andon.Tenant) error {
	if t.Version == 0 {
		return andon.Errorf(andon.NotFound, "tenant %q is gone", t.ID)
	}
	return nil
}
