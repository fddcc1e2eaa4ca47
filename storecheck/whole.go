package storecheck

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// Whole reads the lists of a store to their ends: the Limit of a query is the size of the pages
// that are asked for, each after the last item of the one before.
type Whole struct{ andon.Store }

// pages yields the items of all pages. The place of an item is where the page after it begins.
func pages[T, P any](
	size int, page func(after *P) iter.Seq2[T, error], place func(T) P,
) iter.Seq2[T, error] {
	const tooLong = 100_000
	return func(yield func(T, error) bool) {
		var none T
		var after *P
		for all := 0; all < tooLong; all += size {
			read, err := seq.Collect(page(after))
			if err == nil && len(read) > size {
				err = fmt.Errorf("a page of at most %d has %d items", size, len(read))
			}
			for _, item := range read {
				if !yield(item, nil) {
					return
				}
			}
			if err != nil {
				yield(none, err)
			}
			if err != nil || len(read) < size {
				return
			}
			after = new(place(read[size-1]))
		}
		yield(none, errors.New("the pages do not end"))
	}
}

// orZero returns what a place points to; the zero value at the start of a list.
func orZero[P any](place *P) (p P) {
	if place != nil {
		p = *place
	}
	return p
}

// keyed yields the pages of a list in the order of EventKey, which needs the severities of the
// tenant.
func keyed[T, ID any](
	ctx context.Context, w Whole, id andon.TenantID, of ID, q andon.EventQuery,
	list func(context.Context, andon.TenantID, ID, andon.EventQuery) iter.Seq2[T, error],
	event func(T) *andon.Event,
) iter.Seq2[T, error] {
	return seq.After(w.find(ctx, id), func(t andon.Tenant) iter.Seq2[T, error] {
		page := func(after *andon.EventKey) iter.Seq2[T, error] {
			q.After = after
			return list(ctx, id, of, q)
		}
		place := func(item T) andon.EventKey { return event(item).Key(t.States) }
		return pages(q.Limit, page, place)
	})
}

func (w Whole) find(ctx context.Context, id andon.TenantID) func() (andon.Tenant, error) {
	return func() (andon.Tenant, error) { return w.Tenant(ctx, id) }
}

func itself(e andon.Event) *andon.Event { return &e }

// DeviceEvents implements andon.Log.
func (w Whole) DeviceEvents(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return keyed(ctx, w, id, device, q, w.Store.DeviceEvents, itself)
}

// OperatorEvents implements andon.Log.
func (w Whole) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return keyed(ctx, w, id, operator, q, w.Store.OperatorEvents, itself)
}

// SupervisorEvents implements andon.Log.
func (w Whole) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return keyed(ctx, w, id, supervisor, q, w.Store.SupervisorEvents, itself)
}

// TenantEvents implements andon.Log.
func (w Whole) TenantEvents(
	ctx context.Context, id andon.TenantID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	list := func(
		ctx context.Context, id, _ andon.TenantID, q andon.EventQuery,
	) iter.Seq2[andon.Event, error] {
		return w.Store.TenantEvents(ctx, id, q)
	}
	return keyed(ctx, w, id, id, q, list, itself)
}

// EscalatedEntries implements andon.Log.
func (w Whole) EscalatedEntries(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	event := func(e andon.Entry) *andon.Event { return &e.Event }
	return keyed(ctx, w, id, device, q, w.Store.EscalatedEntries, event)
}

// Intervals returns the runs of a device, as andon.Intervals does.
func (w Whole) Intervals(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.IntervalQuery,
) iter.Seq2[andon.Interval, error] {
	return seq.After(w.find(ctx, id), func(t andon.Tenant) iter.Seq2[andon.Interval, error] {
		page := func(after *andon.IntervalPosition) iter.Seq2[andon.PositionedInterval, error] {
			q.After = after
			return andon.Intervals(ctx, w.Store, id, t.States, device, q)
		}
		place := func(i andon.PositionedInterval) andon.IntervalPosition { return i.Position }
		interval := func(i andon.PositionedInterval) andon.Interval { return i.Interval }
		return seq.Map(pages(q.Limit, page, place), interval)
	})
}

// Devices implements andon.Current.
func (w Whole) Devices(
	ctx context.Context, id andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	return pages(q.Limit, func(after *andon.DevicePosition) iter.Seq2[andon.Device, error] {
		q.After = after
		return w.Store.Devices(ctx, id, q)
	}, func(d andon.Device) andon.DevicePosition { return d.Position() })
}

// Names implements andon.Current.
func (w Whole) Names(
	ctx context.Context, id andon.TenantID, q andon.NameQuery,
) iter.Seq2[andon.NameCount, error] {
	return pages(q.Limit, func(after *string) iter.Seq2[andon.NameCount, error] {
		q.After = orZero(after)
		return w.Store.Names(ctx, id, q)
	}, func(n andon.NameCount) string { return n.Name })
}

// Assignments implements andon.Assignments.
func (w Whole) Assignments(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	return pages(q.Limit, func(after *andon.Time) iter.Seq2[andon.Assignment, error] {
		q.After = orZero(after)
		return w.Store.Assignments(ctx, id, device, q)
	}, func(a andon.Assignment) andon.Time { return a.From })
}

// DeviceReadings implements andon.Readings.
func (w Whole) DeviceReadings(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return pages(q.Limit, func(after *andon.Time) iter.Seq2[andon.Reading, error] {
		q.After = orZero(after)
		return w.Store.DeviceReadings(ctx, id, device, q)
	}, func(r andon.Reading) andon.Time { return r.Time })
}

// MetricReadings implements andon.Readings.
func (w Whole) MetricReadings(
	ctx context.Context, id andon.TenantID, q andon.MetricQuery,
) iter.Seq2[andon.MetricReading, error] {
	return pages(q.Limit, func(after *andon.MetricPosition) iter.Seq2[andon.MetricReading, error] {
		q.After = after
		return w.Store.MetricReadings(ctx, id, q)
	}, func(r andon.MetricReading) andon.MetricPosition { return r.Position() })
}

// Records implements andon.Records.
func (w Whole) Records(
	ctx context.Context, id andon.TenantID, kind andon.RecordKind, q andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return pages(q.Limit, func(after *string) iter.Seq2[andon.Record, error] {
		q.After = orZero(after)
		return w.Store.Records(ctx, id, kind, q)
	}, func(r andon.Record) string { return r.ID })
}
