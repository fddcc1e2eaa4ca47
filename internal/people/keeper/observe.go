package keeper

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
)

// Observe takes in what is true of a device as far as an incident of a kind is about it that does
// not follow from the feed. Nothing happens where that is known. The operator is the device's.
func (k *Keeper) Observe(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, kind people.Kind,
	o people.Observation,
) error {
	shown, err := k.Store.Device(ctx, tenant, device)
	if err = andon.Ignore(err, andon.NotFound); err != nil {
		return err
	}
	o.Operator = shown.Operator
	f := &follower{Keeper: k, tenant: tenant}
	h, err := f.observe(ctx, device, kind, &o, nil, nil)
	if err == nil {
		f.effects(ctx, h)
	}
	return err
}

// observe is what is true of a device that shows something.
func observe(d *andon.Device) *people.Observation {
	return &people.Observation{
		// Where severities have changed it may still have the beginning of what is normal now.
		Holds: d.IncidentSince != 0 && d.Severity > 0, Since: d.IncidentSince, Severity: d.Severity,
		Entry: andon.EntryRef{Time: d.Since, State: d.State}, Operator: d.Operator,
		Message: d.Message,
	}
}

// opening makes the incident of a device, unless one that is closed knows of what opens it.
func (f *follower) opening(
	ctx context.Context, s *people.Setting, device andon.DeviceID, kind people.Kind,
	o *people.Observation,
) (*people.Incident, error) {
	last, other, err := f.Incidents.Newest(ctx, f.tenant, device, kind)
	if err != nil {
		return nil, err
	}
	if last != nil {
		if knows, err := f.Incidents.Knows(ctx, f.tenant, last, o.At); err != nil || knows {
			return nil, err
		}
	}
	return f.opened(ctx, s, device, kind, o, last, other)
}

// appointed returns the appointment of the operator of a device by a policy in one of some of its
// incidents, or in one of another kind that is open; nil where people chose the operator.
func (f *follower) appointed(
	ctx context.Context, device andon.DeviceID, kind people.Kind, operator andon.PersonID,
	some ...*people.Incident,
) (*people.Appointment, error) {
	if operator == "" {
		return nil, nil
	}
	for _, k := range []people.Kind{people.StateKind, people.SilentKind} {
		at := records.Place(device, k)
		if k != kind && f.Incidents.MayBeOpen(f.tenant, at) {
			h, err := f.Incidents.Read(ctx, f.tenant, at)
			if err != nil {
				return nil, err
			}
			if h != nil {
				some = append(some, h.Incident)
			}
		}
	}
	for _, in := range some {
		if in != nil && in.Appointed != nil && in.Appointed.To == operator {
			return in.Appointed, nil
		}
	}
	return nil, nil
}

// opened makes the incident that comes after the last one of its kind and another one of a device,
// if there are such.
func (f *follower) opened(
	ctx context.Context, s *people.Setting, device andon.DeviceID, kind people.Kind,
	o *people.Observation, last, other *people.Incident,
) (_ *people.Incident, err error) {
	is := *o
	if is.Appointed, err = f.appointed(ctx, device, kind, o.Operator, last, other); err != nil {
		return nil, err
	}
	if is.Arrived == 0 {
		is.Arrived = s.Now
	}
	if is.Former = last; last != nil {
		is.Arrived = max(is.Arrived, last.Opened+1)
	}
	id := records.IDOf(is.Arrived, records.Place(device, kind))
	next := people.Open(s, id, device, kind, &is)
	next.Advance(s)
	if last != nil { // nobody else looks at that one any more
		next.Doing = append(next.Doing, last.Untold()...)
	}
	return next, nil
}

// observe takes in what is true of a device, of which known is open; nil: that is read. What is due
// at once is done with it. For an incident that comes after one that is closed by that, later is as
// in change.
func (f *follower) observe(
	ctx context.Context, device andon.DeviceID, kind people.Kind, o *people.Observation,
	known *records.Held, later **people.Observation,
) (*records.Held, error) {
	s, err := f.SettingNow(ctx, f.tenant)
	if err != nil {
		return nil, err
	}
	at := records.Place(device, kind)
	var former *records.Held
	changed := false
	decide := func(h *records.Held) (_ bool, err error) {
		former, changed = nil, false
		if h.Incident == nil && !o.Holds {
			return false, nil
		}
		if h.Incident == nil {
			h.Incident, err = f.opening(ctx, s, device, kind, o)
			changed = h.Incident != nil
			return changed, err
		}
		knows, err := f.Incidents.Knows(ctx, f.tenant, h.Incident, o.At)
		switch {
		case err != nil || knows:
			return false, err
		case h.Ended != 0 || h.Reopens(o):
			former = h
			if h.Ended != 0 {
				return false, nil
			}
			h.Close(s, "it opened again")
			return true, nil
		}
		is, err := f.operated(ctx, h, o)
		changed = err == nil && h.Observe(s, is)
		return changed, err
	}
	h, err := f.Incidents.DecideFrom(ctx, f.tenant, at, known, decide)
	if err != nil || former == nil || !o.Holds {
		if !changed { // whoever stored its effects does them
			return nil, err
		}
		return h, err
	}
	return f.succeed(ctx, s, former, o, later)
}

// operated is an observation that says who is the operator of the device by now, where that is not
// known of the incident. A change may be from before an assignment that the incident has decided
// on: it was read before the device is.
func (f *follower) operated(
	ctx context.Context, h *records.Held, o *people.Observation,
) (*people.Observation, error) {
	is := *o
	if o.Operator == h.Operator && !o.Assigned || o.Operator == "" && !o.Holds && !o.Assigned {
		return &is, nil // what ends it may name nobody
	}
	d, err := f.Store.Device(ctx, f.tenant, h.Device)
	is.Operator, is.Assigned = d.Operator, err == nil
	return &is, andon.Ignore(err, andon.NotFound)
}

// operate has an incident of a device know who is its operator by now, where no observation tells:
// its silence, and what has returned to normal.
func (f *follower) operate(
	ctx context.Context, device andon.DeviceID, kind people.Kind,
) error {
	at := records.Place(device, kind)
	if !f.Incidents.MayBeOpen(f.tenant, at) {
		return nil
	}
	s, err := f.SettingNow(ctx, f.tenant)
	if err != nil {
		return err
	}
	_, err = f.Incidents.Decide(ctx, f.tenant, at, func(h *records.Held) (bool, error) {
		if h.Incident == nil || h.Ended != 0 {
			return false, nil
		}
		d, err := f.Store.Device(ctx, f.tenant, device)
		return err == nil && h.Operate(s, d.Operator), andon.Ignore(err, andon.NotFound)
	})
	return err
}

// succeed opens the incident that comes after one that is closed.
func (f *follower) succeed(
	ctx context.Context, s *people.Setting, former *records.Held, o *people.Observation,
	later **people.Observation,
) (*records.Held, error) {
	device, kind := former.Device, former.Kind
	at := records.Place(device, kind)
	f.effects(ctx, former)
	if !f.Incidents.MayBeOpen(f.tenant, at) {
		former.Doing = nil // or it would not have been moved
		in, err := f.opened(ctx, s, device, kind, o, former.Incident, nil)
		if err != nil {
			return nil, err
		}
		next := &records.Held{Incident: in}
		if later != nil {
			*later = o
			return next, nil
		}
		if err := f.Incidents.Put(ctx, f.tenant, next); err == nil ||
			andon.KindOf(err) != andon.Conflict {
			return next, err
		}
	}
	if again, err := f.Incidents.Read(ctx, f.tenant, at); err != nil {
		return nil, err
	} else if again != nil && again.Ended != 0 {
		if err := f.Incidents.Move(ctx, f.tenant, again); err != nil {
			return nil, err
		}
	}
	return f.observe(ctx, device, kind, o, nil, later)
}
