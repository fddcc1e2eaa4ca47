// Package bydevice reads all that the devices of a tenant sent in a span of time. It is written
// once, above the stores: device by device is an order that each of them can serve, for any number
// of devices and with little in memory, which one by time over all devices is not. It must not know
// a store or what becomes of what it reads.
package bydevice

import (
	"context"
	"iter"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// Query selects what is read.
type Query struct {
	Span andon.Span
	// Only reports which devices are wanted; nil: all. It returns at once, and may be called
	// concurrently.
	Only func(andon.DeviceID) bool
}

// So much is read ahead of what is wanted: a page of each of some devices, which are read at once.
const (
	devicesAhead = 64
	pageSize     = 500
)

// Events returns the entries of a span: the devices by id, retired ones too, and those of each by
// EventKey, the oldest first. An entry that was acknowledged before the call, and neither expires
// nor is withdrawn or purged until it ends, is returned exactly once; one that is acknowledged
// meanwhile may be left out. The store must be Whole. A shared store whose index of devices is
// eventual may leave out devices that came within the last seconds.
func Events(
	ctx context.Context, s andon.Store, id andon.TenantID, q Query,
) iter.Seq2[andon.Event, error] {
	return all(ctx, s, id, q, func(
		ctx context.Context, device andon.DeviceID, last *andon.Event,
	) ([]andon.Event, error) {
		ask := andon.EventQuery{Span: q.Span, Order: andon.Asc, Limit: pageSize}
		if last != nil {
			t, err := s.Tenant(ctx, id)
			if err != nil {
				return nil, err
			}
			ask.After = new(last.Key(t.States))
		}
		return seq.Collect(s.DeviceEvents(ctx, id, device, ask))
	})
}

// Readings is Events of readings.
func Readings(
	ctx context.Context, s andon.Store, id andon.TenantID, q Query,
) iter.Seq2[andon.Reading, error] {
	return all(ctx, s, id, q, func(
		ctx context.Context, device andon.DeviceID, last *andon.Reading,
	) ([]andon.Reading, error) {
		ask := andon.ReadingQuery{Span: q.Span, Order: andon.Asc, Limit: pageSize}
		if last != nil {
			ask.After = last.Time
		}
		return seq.Collect(s.DeviceReadings(ctx, id, device, ask))
	})
}

// page reads what a device has after one; nil: from the start.
type page[T any] func(ctx context.Context, d andon.DeviceID, last *T) ([]T, error)

// begun is a device whose first page is read.
type begun[T any] struct {
	device andon.DeviceID
	items  []T
	err    error
	done   chan struct{}
}

// all yields what devices have.
func all[T any](
	ctx context.Context, s andon.Store, id andon.TenantID, q Query, read page[T],
) iter.Seq2[T, error] {
	return seq.Of(func(yield func(T) bool) error {
		ctx, stop := context.WithCancel(ctx)
		var work sync.WaitGroup
		defer work.Wait()
		defer stop()
		ahead, unread := make(chan *begun[T], devicesAhead), make(chan *begun[T])
		for range devicesAhead {
			work.Go(func() {
				for b := range unread {
					b.items, b.err = read(ctx, b.device, nil)
					close(b.done)
				}
			})
		}
		work.Go(func() {
			defer close(ahead)
			defer close(unread)
			for d, err := range Devices(ctx, s, id, q) {
				b := &begun[T]{device: d, err: err, done: make(chan struct{})}
				select {
				case ahead <- b:
				case <-ctx.Done():
					return
				}
				if err != nil {
					close(b.done)
					return
				}
				unread <- b
			}
		})
		for b := range ahead {
			<-b.done
			if more, err := b.yield(ctx, read, yield); err != nil || !more {
				return err
			}
		}
		return ctx.Err()
	})
}

// yield yields what the device has, and reports whether more is wanted.
func (b *begun[T]) yield(
	ctx context.Context, read page[T], yield func(T) bool,
) (more bool, err error) {
	items, err := b.items, b.err
	for err == nil {
		for i := range items {
			if !yield(items[i]) {
				return false, nil
			}
		}
		if len(items) < pageSize {
			return true, nil
		}
		items, err = read(ctx, b.device, &items[len(items)-1])
	}
	return false, err
}

// Devices returns the devices of a query by id, retired ones too.
func Devices(
	ctx context.Context, s andon.Store, id andon.TenantID, of Query,
) iter.Seq2[andon.DeviceID, error] {
	q := andon.DeviceQuery{Kind: andon.AllDevices, Limit: andon.MaxLimit, Only: of.Only}
	return seq.Map(andon.EachDevice(ctx, s, id, q), func(d andon.Device) andon.DeviceID {
		return d.ID
	})
}
