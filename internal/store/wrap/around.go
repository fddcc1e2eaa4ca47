package wrap

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
)

// Hook runs around each call of a store: method is its name in andon.Store. An error is returned in
// place of the call, which is not made. end, unless it is nil, is called with how the call ended; a
// list ends when its reader has read it or left. A Hook may be called concurrently.
type Hook func(ctx context.Context, method string) (end func(error), err error)

// Around returns s with a hook around each method but Capabilities, Damage and Close, which do not
// call the engine. All methods are written out here: one that is added to andon.Store does not
// compile until it is here, too.
func Around(s andon.Store, hook Hook) andon.Store { return &around{next: s, hook: hook} }

type around struct {
	next andon.Store
	hook Hook
	shut func() error    // in place of Close of next, unless nil
	open context.Context // ends when the store is closed; may be nil
}

var _ andon.Store = (*around)(nil)

func (a *around) do(ctx context.Context, method string, call func() error) error {
	end, err := a.hook(ctx, method)
	if err != nil {
		return err
	}
	if end == nil {
		return call()
	}
	err = errPanicked // of a call that does not return
	defer func() { end(err) }()
	err = call()
	return err
}

var errPanicked = andon.Errorf(andon.Internal, "the store panicked")

func get[T any](
	ctx context.Context, a *around, method string, call func() (T, error),
) (value T, err error) {
	err = a.do(ctx, method, func() (err error) {
		value, err = call()
		return err
	})
	return value, err
}

// each is do of a list, each time that it is read: before that a store does nothing for it.
func each[T any](
	ctx context.Context, a *around, method string, list iter.Seq2[T, error],
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ended := false // the reader knows how it ended
		err := a.do(ctx, method, func() error {
			for value, err := range list {
				ended = !yield(value, err) || err != nil
				if ended {
					return err
				}
			}
			return nil
		})
		if err != nil && !ended {
			var none T
			yield(none, err)
		}
	}
}

func (a *around) Append(
	ctx context.Context, tenant andon.TenantID, received andon.Time, events []andon.Event,
) error {
	return a.do(ctx, "Append", func() error {
		return a.next.Append(ctx, tenant, received, events)
	})
}

func (a *around) Entry(
	ctx context.Context, tenant andon.TenantID,
	device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	return get(ctx, a, "Entry", func() (andon.Entry, error) {
		return a.next.Entry(ctx, tenant, device, at, state)
	})
}

func (a *around) DeviceEvents(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return each(ctx, a, "DeviceEvents", a.next.DeviceEvents(ctx, tenant, device, q))
}

func (a *around) OperatorEvents(
	ctx context.Context, tenant andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return each(ctx, a, "OperatorEvents", a.next.OperatorEvents(ctx, tenant, operator, q))
}

func (a *around) SupervisorEvents(
	ctx context.Context, tenant andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return each(ctx, a, "SupervisorEvents", a.next.SupervisorEvents(ctx, tenant, supervisor, q))
}

func (a *around) TenantEvents(
	ctx context.Context, tenant andon.TenantID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return each(ctx, a, "TenantEvents", a.next.TenantEvents(ctx, tenant, q))
}

func (a *around) EscalatedEntries(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	return each(ctx, a, "EscalatedEntries", a.next.EscalatedEntries(ctx, tenant, device, q))
}

func (a *around) Escalate(
	ctx context.Context, tenant andon.TenantID, e andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	err = a.do(ctx, "Escalate", func() (err error) {
		kept, added, err = a.next.Escalate(ctx, tenant, e)
		return err
	})
	return kept, added, err
}

func (a *around) Device(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID,
) (andon.Device, error) {
	return get(ctx, a, "Device", func() (andon.Device, error) {
		return a.next.Device(ctx, tenant, device)
	})
}

func (a *around) Devices(
	ctx context.Context, tenant andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	return each(ctx, a, "Devices", a.next.Devices(ctx, tenant, q))
}

func (a *around) Counts(
	ctx context.Context, tenant andon.TenantID, silentBefore andon.Time,
) ([]andon.StateCount, error) {
	return get(ctx, a, "Counts", func() ([]andon.StateCount, error) {
		return a.next.Counts(ctx, tenant, silentBefore)
	})
}

func (a *around) Regroup(
	ctx context.Context, tenant andon.TenantID,
	of func(andon.DeviceID) uint32, devices []andon.DeviceID,
) error {
	return a.do(ctx, "Regroup", func() error {
		return a.next.Regroup(ctx, tenant, of, devices)
	})
}

func (a *around) Names(
	ctx context.Context, tenant andon.TenantID, q andon.NameQuery,
) iter.Seq2[andon.NameCount, error] {
	return each(ctx, a, "Names", a.next.Names(ctx, tenant, q))
}

func (a *around) Retire(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, at andon.Time,
) (andon.Time, error) {
	return get(ctx, a, "Retire", func() (andon.Time, error) {
		return a.next.Retire(ctx, tenant, device, at)
	})
}

func (a *around) Retirements(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID,
) ([]andon.Time, error) {
	return get(ctx, a, "Retirements", func() ([]andon.Time, error) {
		return a.next.Retirements(ctx, tenant, device)
	})
}

func (a *around) Withdraw(
	ctx context.Context, tenant andon.TenantID, w andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	err = a.do(ctx, "Withdraw", func() (err error) {
		kept, added, err = a.next.Withdraw(ctx, tenant, w)
		return err
	})
	return kept, added, err
}

func (a *around) Purge(ctx context.Context, tenant andon.TenantID, device andon.DeviceID) error {
	return a.do(ctx, "Purge", func() error { return a.next.Purge(ctx, tenant, device) })
}

func (a *around) AppendReadings(
	ctx context.Context, tenant andon.TenantID, received andon.Time, readings []andon.Reading,
) error {
	return a.do(ctx, "AppendReadings", func() error {
		return a.next.AppendReadings(ctx, tenant, received, readings)
	})
}

func (a *around) DeviceReadings(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return each(ctx, a, "DeviceReadings", a.next.DeviceReadings(ctx, tenant, device, q))
}

func (a *around) LatestReadings(
	ctx context.Context, tenant andon.TenantID, devices []andon.DeviceID, from andon.Time,
) ([]andon.Reading, error) {
	return get(ctx, a, "LatestReadings", func() ([]andon.Reading, error) {
		return a.next.LatestReadings(ctx, tenant, devices, from)
	})
}

func (a *around) MetricReadings(
	ctx context.Context, tenant andon.TenantID, q andon.MetricQuery,
) iter.Seq2[andon.MetricReading, error] {
	return each(ctx, a, "MetricReadings", a.next.MetricReadings(ctx, tenant, q))
}

func (a *around) Assign(
	ctx context.Context, tenant andon.TenantID, now andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	return get(ctx, a, "Assign", func() ([]andon.Assignment, error) {
		return a.next.Assign(ctx, tenant, now, assignments)
	})
}

func (a *around) Assignments(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, q andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	return each(ctx, a, "Assignments", a.next.Assignments(ctx, tenant, device, q))
}

func (a *around) Restore(ctx context.Context, tenant andon.TenantID, h andon.History) error {
	return a.do(ctx, "Restore", func() error { return a.next.Restore(ctx, tenant, h) })
}

func (a *around) Tenants(ctx context.Context) ([]andon.Tenant, error) {
	return get(ctx, a, "Tenants", func() ([]andon.Tenant, error) {
		return a.next.Tenants(ctx)
	})
}

func (a *around) Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	return get(ctx, a, "Tenant", func() (andon.Tenant, error) {
		return a.next.Tenant(ctx, id)
	})
}

func (a *around) PutTenant(ctx context.Context, t andon.Tenant) (andon.Tenant, error) {
	return get(ctx, a, "PutTenant", func() (andon.Tenant, error) {
		return a.next.PutTenant(ctx, t)
	})
}

func (a *around) Reorder(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	return get(ctx, a, "Reorder", func() (andon.Tenant, error) {
		return a.next.Reorder(ctx, id)
	})
}

func (a *around) AdmitStates(
	ctx context.Context, id andon.TenantID, states []andon.State, most int,
) ([]andon.State, error) {
	return get(ctx, a, "AdmitStates", func() ([]andon.State, error) {
		return a.next.AdmitStates(ctx, id, states, most)
	})
}

func (a *around) DeleteTenant(ctx context.Context, id andon.TenantID) error {
	return a.do(ctx, "DeleteTenant", func() error { return a.next.DeleteTenant(ctx, id) })
}

func (a *around) Had(ctx context.Context, id andon.TenantID) (events, readings bool, err error) {
	err = a.do(ctx, "Had", func() (err error) {
		events, readings, err = a.next.Had(ctx, id)
		return err
	})
	return events, readings, err
}

func (a *around) Expire(ctx context.Context, id andon.TenantID, h andon.Horizon) error {
	return a.do(ctx, "Expire", func() error { return a.next.Expire(ctx, id, h) })
}

func (a *around) Record(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, id string,
) (andon.Record, error) {
	return get(ctx, a, "Record", func() (andon.Record, error) {
		return a.next.Record(ctx, tenant, kind, id)
	})
}

func (a *around) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	return get(ctx, a, "PutRecord", func() (andon.Record, error) {
		return a.next.PutRecord(ctx, r)
	})
}

func (a *around) DeleteRecord(ctx context.Context, r andon.Record) error {
	return a.do(ctx, "DeleteRecord", func() error { return a.next.DeleteRecord(ctx, r) })
}

func (a *around) Records(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, q andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return each(ctx, a, "Records", a.next.Records(ctx, tenant, kind, q))
}

func (a *around) DueRecords(
	ctx context.Context, kind andon.RecordKind, until andon.Time, limit int,
) iter.Seq2[andon.Record, error] {
	return each(ctx, a, "DueRecords", a.next.DueRecords(ctx, kind, until, limit))
}

func (a *around) Ready(ctx context.Context) error {
	return a.do(ctx, "Ready", func() error { return a.next.Ready(ctx) })
}

// Capabilities implements andon.Store.
func (a *around) Capabilities() andon.Capabilities { return a.next.Capabilities() }

// Close implements andon.Store.
func (a *around) Close() error {
	if a.shut != nil {
		return a.shut()
	}
	return a.next.Close()
}

func (a *around) Changes(
	ctx context.Context, tenant andon.TenantID, after andon.Position,
) iter.Seq2[andon.Change, error] {
	return each(ctx, a, "Changes", a.next.Changes(ctx, tenant, after))
}

// AwaitChange has the hook around its beginning only: who waits is not at work in the engine, and
// is not slow.
func (a *around) AwaitChange(
	ctx context.Context, tenant andon.TenantID, after andon.Position,
) error {
	if err := a.do(ctx, "AwaitChange", func() error { return nil }); err != nil {
		return err
	}
	if a.open == nil {
		return a.next.AwaitChange(ctx, tenant, after)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(a.open, func() { end(errClosed) })()
	err := a.next.AwaitChange(ctx, tenant, after)
	if context.Cause(ctx) == errClosed {
		return errClosed
	}
	return err
}

func (a *around) Arrivals(
	ctx context.Context, tenant andon.TenantID, q andon.ArrivalQuery,
) (andon.Arrived, error) {
	return get(ctx, a, "Arrivals", func() (andon.Arrived, error) {
		return a.next.Arrivals(ctx, tenant, q)
	})
}

func (a *around) ChangesKept(
	ctx context.Context, tenant andon.TenantID,
) (oldest, newest andon.Position, err error) {
	err = a.do(ctx, "ChangesKept", func() (err error) {
		oldest, newest, err = a.next.ChangesKept(ctx, tenant)
		return err
	})
	return oldest, newest, err
}

func (a *around) Diagnose(
	ctx context.Context, report func(name, value, source string, advice ...string),
) error {
	return a.do(ctx, "Diagnose", func() error { return a.next.Diagnose(ctx, report) })
}

func (a *around) Figures(
	report func(name, help string, value float64, labels ...string),
) {
	_ = a.do(context.Background(), "Figures", func() error { // a store that is closed has none
		a.next.Figures(report)
		return nil
	})
}

// Damage implements andon.Maintenance.
func (a *around) Damage() []string { return a.next.Damage() }

func (a *around) Finish(ctx context.Context) error {
	return a.do(ctx, "Finish", func() error { return a.next.Finish(ctx) })
}

func (a *around) Snapshot(
	ctx context.Context, take func(dir string, files []string) error,
) error {
	return a.do(ctx, "Snapshot", func() error { return a.next.Snapshot(ctx, take) })
}

func (a *around) Sweep(
	ctx context.Context, id andon.TenantID, h andon.Horizon,
) (int64, error) {
	return get(ctx, a, "Sweep", func() (int64, error) { return a.next.Sweep(ctx, id, h) })
}

func (a *around) RebuildLatest(
	ctx context.Context, design, buckets string, progress func(done, total int64),
) error {
	return a.do(ctx, "RebuildLatest", func() error {
		return a.next.RebuildLatest(ctx, design, buckets, progress)
	})
}

func (a *around) Divide(
	ctx context.Context, id andon.TenantID, of, name string, n int,
) (int, error) {
	return get(ctx, a, "Divide", func() (int, error) { return a.next.Divide(ctx, id, of, name, n) })
}

func (a *around) Size(ctx context.Context) (int64, error) {
	return get(ctx, a, "Size", func() (int64, error) { return a.next.Size(ctx) })
}
