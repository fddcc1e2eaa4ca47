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

// pages yields the items of all pages, each of which page reads after the place that after points
// to. The place of an item is where the page after it begins.
func pages[T, P any](
	size int, after *P, page func() iter.Seq2[T, error], place func(T) P,
) iter.Seq2[T, error] {
	const tooLong = 100_000
	first := *after
	return seq.Of(func(yield func(T) bool) error {
		defer func() { *after = first }() // it can be read again
		for all := 0; all < tooLong; all += size {
			read, err := seq.Collect(page())
			if err == nil && len(read) > size {
				err = fmt.Errorf("a page of at most %d has %d items", size, len(read))
			}
			for _, item := range read {
				if !yield(item) {
					return nil
				}
			}
			if err != nil || len(read) < size {
				return err
			}
			*after = place(read[size-1])
		}
		return errors.New("the pages do not end")
	})
}

// keyed yields the pages of a list in the order of EventKey, which needs the severities of the
// tenant.
func keyed[T, ID any](
	ctx context.Context, w Whole, id andon.TenantID, of ID, q andon.EventQuery,
	list func(context.Context, andon.TenantID, ID, andon.EventQuery) iter.Seq2[T, error],
	event func(T) *andon.Event,
) iter.Seq2[T, error] {
	return seq.After(w.find(ctx, id), func(t andon.Tenant) iter.Seq2[T, error] {
		page := func() iter.Seq2[T, error] { return list(ctx, id, of, q) }
		place := func(item T) *andon.EventKey { return new(event(item).Key(t.States)) }
		return pages(q.Limit, &q.After, page, place)
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
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Interval, error] {
	return seq.After(w.find(ctx, id), func(t andon.Tenant) iter.Seq2[andon.Interval, error] {
		return pages(q.Limit, &q.After, func() iter.Seq2[andon.Interval, error] {
			return andon.Intervals(ctx, w.Store, id, t.States, device, q)
		}, func(i andon.Interval) *andon.EventKey { return &i.First })
	})
}

// Devices implements andon.Current.
func (w Whole) Devices(
	ctx context.Context, id andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	return pages(q.Limit, &q.After, func() iter.Seq2[andon.Device, error] {
		return w.Store.Devices(ctx, id, q)
	}, func(d andon.Device) *andon.DevicePosition { return new(d.Position()) })
}

// Names implements andon.Current.
func (w Whole) Names(
	ctx context.Context, id andon.TenantID, q andon.NameQuery,
) iter.Seq2[andon.NameCount, error] {
	return pages(q.Limit, &q.After, func() iter.Seq2[andon.NameCount, error] {
		return w.Store.Names(ctx, id, q)
	}, func(n andon.NameCount) string { return n.Name })
}

// Assignments implements andon.Assignments.
func (w Whole) Assignments(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	return pages(q.Limit, &q.After, func() iter.Seq2[andon.Assignment, error] {
		return w.Store.Assignments(ctx, id, device, q)
	}, func(a andon.Assignment) andon.Time { return a.From })
}

// DeviceReadings implements andon.Readings.
func (w Whole) DeviceReadings(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return pages(q.Limit, &q.After, func() iter.Seq2[andon.Reading, error] {
		return w.Store.DeviceReadings(ctx, id, device, q)
	}, func(r andon.Reading) andon.Time { return r.Time })
}

// MetricReadings implements andon.Readings.
func (w Whole) MetricReadings(
	ctx context.Context, id andon.TenantID, q andon.MetricQuery,
) iter.Seq2[andon.MetricReading, error] {
	return pages(q.Limit, &q.After, func() iter.Seq2[andon.MetricReading, error] {
		return w.Store.MetricReadings(ctx, id, q)
	}, func(r andon.MetricReading) *andon.MetricPosition { return new(r.Position()) })
}

// Records implements andon.Records.
func (w Whole) Records(
	ctx context.Context, id andon.TenantID, kind andon.RecordKind, q andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return pages(q.Limit, &q.After, func() iter.Seq2[andon.Record, error] {
		return w.Store.Records(ctx, id, kind, q)
	}, func(r andon.Record) string { return r.ID })
}
