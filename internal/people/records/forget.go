package records

import (
	"context"
	"math"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/seq"
)

// Forget removes the incidents of a device that was purged at a place in the feed. Those that know
// of it are newer, and stay. Without a place one of a state that still holds stays, since the feed
// comes to it.
func (in *Incidents) Forget(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, at andon.Position,
) error {
	ctx = andon.Freeing(ctx)
	open, err := in.openOf(ctx, tenant, device, false)
	if err != nil {
		return err
	}
	for _, h := range open {
		stays := at == (andon.Position{}) && h.Kind == people.StateKind && h.Until == 0
		knows, err := in.Knows(ctx, tenant, h.Incident, at)
		if err != nil {
			return err
		}
		if stays || knows {
			continue
		}
		if h.Ended != 0 { // it may be among the closed ones without a place in their list
			if err := in.Move(ctx, tenant, &h); err != nil {
				return err
			}
		}
		place := Place(device, h.Kind)
		r := andon.Record{Tenant: tenant, Kind: OpenKind, ID: place, Version: h.Version}
		err = in.store.DeleteRecord(ctx, r)
		if err != nil && andon.KindOf(err) == andon.Conflict { // somebody has changed it meanwhile
			return in.Forget(ctx, tenant, device, at)
		}
		if err = andon.Ignore(err, andon.NotFound); err != nil {
			return err
		}
		in.know(tenant, place, nil, h.Version)
	}
	prefix := deviceHash(device) + "/"
	q := andon.RecordQuery{Prefix: prefix, Limit: math.MaxInt}
	of, err := seq.Collect(in.store.Records(ctx, tenant, ofKind, q))
	for _, one := range of {
		stays, err := in.forgetClosed(ctx, tenant, strings.TrimPrefix(one.ID, prefix), at)
		if err == nil && !stays {
			err = in.delete(ctx, one)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// forgetClosed removes a closed incident by the id of its record, unless it knows of a place in the
// feed. Where it is gone or damaged, nothing stays.
func (in *Incidents) forgetClosed(
	ctx context.Context, tenant andon.TenantID, id string, at andon.Position,
) (stays bool, _ error) {
	r, err := in.store.Record(ctx, tenant, closedKind, id)
	if err != nil {
		return false, andon.Ignore(err, andon.NotFound)
	}
	if is, wrong := decode(&r); wrong == nil {
		stays, err = in.Knows(ctx, tenant, is, at)
		if err != nil || stays {
			return stays, err
		}
		err = in.deleteEnded(ctx, tenant, is)
	}
	if err == nil {
		err = in.delete(ctx, r)
	}
	return false, err
}

// Expire removes closed incidents that ended before a time.
func (in *Incidents) Expire(
	ctx context.Context, tenant andon.TenantID, before andon.Time,
) error {
	const some = 1000
	q := andon.RecordQuery{After: keyOf(before, ""), Limit: some}
	for {
		all, err := seq.Collect(in.store.Records(ctx, tenant, closedKind, q))
		if err != nil {
			return err
		}
		for _, r := range all {
			is, err := decode(&r)
			if err == nil && is.Ended >= before {
				continue
			}
			if err == nil {
				err = in.deleteEnded(ctx, tenant, is)
			}
			if err == nil {
				of := deviceHash(is.Device) + "/" + r.ID
				err = in.deleteAt(ctx, tenant, ofKind, of)
			}
			if err != nil && andon.KindOf(err) != andon.Damaged {
				return err
			}
			if err := in.delete(ctx, r); err != nil {
				return err
			}
		}
		if len(all) < some {
			return nil
		}
		q.After = all[some-1].ID
	}
}

// Known returns how many incidents of all tenants are open, as far as this process knows.
func (in *Incidents) Known() (n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, o := range in.open {
		n += len(o.places.by)
	}
	return n
}

// deleteEnded deletes the record by which a closed incident is found by its end.
func (in *Incidents) deleteEnded(
	ctx context.Context, tenant andon.TenantID, is *people.Incident,
) error {
	if is.Kind == people.StateKind {
		return nil
	}
	return in.deleteAt(ctx, tenant, endedKind, keyOf(is.Ended, Place(is.Device, is.Kind)))
}

// deleteAt deletes the record of an id, unless it is gone.
func (in *Incidents) deleteAt(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, id string,
) error {
	r, err := in.store.Record(ctx, tenant, kind, id)
	if err == nil {
		err = in.delete(ctx, r)
	}
	return andon.Ignore(err, andon.NotFound)
}

// delete deletes a record, unless it is gone or was changed meanwhile.
func (in *Incidents) delete(ctx context.Context, r andon.Record) error {
	err := in.store.DeleteRecord(andon.Freeing(ctx), r)
	return andon.Ignore(err, andon.NotFound, andon.Conflict)
}
