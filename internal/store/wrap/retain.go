// Package wrap has stores that wrap a store: behaviour that every store would otherwise repeat is
// written here once. A wrapper knows the contract of andon.Store and no engine.
package wrap

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// Retain returns s with exact retention: what is older than the tenant's horizon at now is never
// returned and can't be escalated, however late the engine deletes it. Current state does not
// expire; only the message and the attributes that a device shows go with the entry that they are
// of. What is written passes through: admission keeps expired entries out.
func Retain(s andon.Store, now func() andon.Time) andon.Store {
	return RetainBelieved(s, now, now)
}

// RetainBelieved is Retain by a clock that is not always believed. What has expired by what it says
// now is hidden; it stays hidden, whatever the clock says later, by what was believed.
func RetainBelieved(s andon.Store, now, believed func() andon.Time) andon.Store {
	return &retained{Store: s, clock: now, believed: believed}
}

// retained has the methods whose answers expire. Those of Store pass: what is written, and what
// answers nothing that expires. A test names them, so that a method that is added to andon.Store
// does not pass before it is decided whether its answers expire.
type retained struct {
	andon.Store
	clock, believed func() andon.Time
	latest          atomic.Int64 // the latest that was ever believed
}

// now is the clock, which does not go back before what was believed: nor does the horizon.
func (r *retained) now() andon.Time {
	believed := int64(r.believed())
	for {
		latest := r.latest.Load()
		if believed <= latest {
			return max(andon.Time(latest), r.clock())
		}
		if r.latest.CompareAndSwap(latest, believed) {
			return max(andon.Time(believed), r.clock())
		}
	}
}

// horizon returns the oldest times of a tenant that are kept now.
func (r *retained) horizon(ctx context.Context, tenant andon.TenantID) (andon.Horizon, error) {
	record, err := r.Store.Tenant(ctx, tenant)
	if err != nil {
		return andon.Horizon{}, err
	}
	return record.Horizon(r.now()), nil
}

// list returns what read gives after the horizon. Of a span of which no part is kept a store reads
// nothing.
func list[T any](
	ctx context.Context, r *retained, tenant andon.TenantID,
	read func(andon.Horizon) iter.Seq2[T, error],
) iter.Seq2[T, error] {
	return seq.After(func() (andon.Horizon, error) { return r.horizon(ctx, tenant) }, read)
}

// events is list for what a store reads of the entries of one: of a device, or of a person.
func events[T, ID any](
	ctx context.Context, r *retained, tenant andon.TenantID, of ID, q andon.EventQuery,
	read func(context.Context, andon.TenantID, ID, andon.EventQuery) iter.Seq2[T, error],
) iter.Seq2[T, error] {
	return list(ctx, r, tenant, func(h andon.Horizon) iter.Seq2[T, error] {
		kept := q
		kept.Span = q.Span.Since(h.Events)
		return read(ctx, tenant, of, kept)
	})
}

func (r *retained) DeviceEvents(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return events(ctx, r, tenant, device, q, r.Store.DeviceEvents)
}

func (r *retained) OperatorEvents(
	ctx context.Context, tenant andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return events(ctx, r, tenant, operator, q, r.Store.OperatorEvents)
}

func (r *retained) SupervisorEvents(
	ctx context.Context, tenant andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return events(ctx, r, tenant, supervisor, q, r.Store.SupervisorEvents)
}

func (r *retained) EscalatedEntries(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	return events(ctx, r, tenant, device, q, r.Store.EscalatedEntries)
}

func (r *retained) TenantEvents(
	ctx context.Context, tenant andon.TenantID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return list(ctx, r, tenant, func(h andon.Horizon) iter.Seq2[andon.Event, error] {
		kept := q
		kept.Span = q.Span.Since(h.Events)
		return r.Store.TenantEvents(ctx, tenant, kept)
	})
}

func (r *retained) Entry(
	ctx context.Context, tenant andon.TenantID,
	device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	if err := r.checkEntry(ctx, tenant, device, at, state); err != nil {
		return andon.Entry{}, err
	}
	return r.Store.Entry(ctx, tenant, device, at, state)
}

func (r *retained) Withdraw(
	ctx context.Context, tenant andon.TenantID, w andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	if err := r.checkEntry(ctx, tenant, w.Device, w.Time, w.State); err != nil {
		return w, false, err
	}
	return r.Store.Withdraw(ctx, tenant, w)
}

func (r *retained) Escalate(
	ctx context.Context, tenant andon.TenantID, e andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	h, err := r.horizon(ctx, tenant)
	if err != nil {
		return andon.Escalation{}, false, err
	}
	there, err := r.escalates(ctx, tenant, h, &e)
	if err == nil && !there {
		err = andon.NoEntry(e.Device, e.Time, e.State)
	}
	if err != nil {
		return andon.Escalation{}, false, err
	}
	return r.Store.Escalate(ctx, tenant, e)
}

// Restore leaves out the escalations of entries that have expired and that no device shows.
func (r *retained) Restore(
	ctx context.Context, tenant andon.TenantID, history andon.History,
) error {
	h, err := r.horizon(ctx, tenant)
	if err != nil {
		return err
	}
	var kept []andon.Escalation
	for _, e := range history.Escalations {
		there, err := r.escalates(ctx, tenant, h, &e)
		if err != nil {
			return err
		}
		if there {
			kept = append(kept, e)
		}
	}
	history.Escalations = kept
	return r.Store.Restore(ctx, tenant, history)
}

// escalates reports whether the entry of an escalation may be there, or the device shows the entry
// or its escalation: current state does not expire, and who answers for it must be able to change.
func (r *retained) escalates(
	ctx context.Context, tenant andon.TenantID, h andon.Horizon, e *andon.Escalation,
) (bool, error) {
	if e.Time >= h.Events {
		return true, nil
	}
	d, err := r.Store.Device(ctx, tenant, e.Device)
	if andon.KindOf(err) == andon.NotFound {
		return false, nil
	}
	return d.Shows(andon.EntryRef{Time: e.Time, State: e.State}), err
}

// checkEntry reports an entry that has expired as one that is not there.
func (r *retained) checkEntry(
	ctx context.Context, tenant andon.TenantID,
	device andon.DeviceID, at andon.Time, state andon.State,
) error {
	h, err := r.horizon(ctx, tenant)
	if err == nil && at < h.Events {
		return andon.NoEntry(device, at, state)
	}
	return err
}

func (r *retained) Device(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID,
) (andon.Device, error) {
	h, err := r.horizon(ctx, tenant)
	if err != nil {
		return andon.Device{}, err
	}
	d, err := r.Store.Device(ctx, tenant, device)
	return shown(d, h), err
}

func (r *retained) Devices(
	ctx context.Context, tenant andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	return list(ctx, r, tenant, func(h andon.Horizon) iter.Seq2[andon.Device, error] {
		q.MeasuredSince = max(q.MeasuredSince, h.Readings)
		return seq.Map(r.Store.Devices(ctx, tenant, q), func(d andon.Device) andon.Device {
			return shown(d, h)
		})
	})
}

// shown returns d without the content of its newest entry where that has expired.
func shown(d andon.Device, h andon.Horizon) andon.Device {
	if d.Time < h.Events {
		d.Message, d.Attributes = "", ""
	}
	return d
}

func (r *retained) DeviceReadings(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return list(ctx, r, tenant, func(h andon.Horizon) iter.Seq2[andon.Reading, error] {
		kept := q
		kept.Span = q.Span.Since(h.Readings)
		return r.Store.DeviceReadings(ctx, tenant, device, kept)
	})
}

func (r *retained) LatestReadings(
	ctx context.Context, tenant andon.TenantID, devices []andon.DeviceID, from andon.Time,
) ([]andon.Reading, error) {
	h, err := r.horizon(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return r.Store.LatestReadings(ctx, tenant, devices, max(from, h.Readings))
}

func (r *retained) MetricReadings(
	ctx context.Context, tenant andon.TenantID, q andon.MetricQuery,
) iter.Seq2[andon.MetricReading, error] {
	return list(ctx, r, tenant, func(h andon.Horizon) iter.Seq2[andon.MetricReading, error] {
		kept := q
		kept.Span = q.Span.Since(h.Readings)
		if kept.Span.Empty() && r.Capabilities().MetricReadings {
			return func(func(andon.MetricReading, error) bool) {} // a store would read each device
		}
		return r.Store.MetricReadings(ctx, tenant, kept)
	})
}

// Changes of what devices show do not expire, but for the entries that brought them about.
func (r *retained) Changes(
	ctx context.Context, tenant andon.TenantID, after andon.Position,
) iter.Seq2[andon.Change, error] {
	return list(ctx, r, tenant, func(h andon.Horizon) iter.Seq2[andon.Change, error] {
		return seq.Map(r.Store.Changes(ctx, tenant, after), func(c andon.Change) andon.Change {
			if c.Entry.Time < h.Events {
				c.Entry = andon.EntryRef{}
			}
			return c
		})
	})
}

// Arrivals leaves out the entries that have expired. The positions go on.
func (r *retained) Arrivals(
	ctx context.Context, tenant andon.TenantID, q andon.ArrivalQuery,
) (part andon.Arrived, err error) {
	h, err := r.horizon(ctx, tenant)
	if err != nil {
		return part, err
	}
	q.Span = q.Span.Since(h.Events)
	return r.Store.Arrivals(ctx, tenant, q)
}
