package index

import (
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Devices gives out the devices of an hour, each once: first those whose entries may come first.
type Devices struct {
	hour     uint32
	order    andon.Order
	span     andon.Span      // that is wanted
	resumed  bool            // the span begins at an entry that was returned already
	heap     []layout.InHour // by their first entries
	givenOut map[uint32]bool
}

// Next returns the next device to read while a span of the hour is still wanted.
type Next func(wanted andon.Span) (d layout.InHour, ok bool)

// NewDevices begins to give out the devices of an hour, whose slice it takes over.
func NewDevices(h Hour, q *andon.EventQuery) *Devices {
	d := &Devices{
		hour: h.Hour, order: q.Order, span: q.Rest(), resumed: q.After != nil, heap: h.Devices,
		givenOut: map[uint32]bool{},
	}
	for i := len(d.heap)/2 - 1; i >= 0; i-- {
		d.sink(i)
	}
	return d
}

// before reports whether the entries of a device may come before those of another.
func (d *Devices) before(x, y *layout.InHour) bool {
	if d.order == andon.Desc {
		return x.Newest > y.Newest
	}
	return x.Oldest < y.Oldest
}

// sink moves a device down to its place in the heap.
func (d *Devices) sink(i int) {
	for {
		child := 2*i + 1
		if child+1 < len(d.heap) && d.before(&d.heap[child+1], &d.heap[child]) {
			child++
		}
		if child >= len(d.heap) || !d.before(&d.heap[child], &d.heap[i]) {
			return
		}
		d.heap[i], d.heap[child] = d.heap[child], d.heap[i]
		i = child
	}
}

// Empty reports whether all devices were given out.
func (d *Devices) Empty() bool { return len(d.heap) == 0 }

// take takes the first device out, and all records of those that were given out before the next.
func (d *Devices) take() layout.InHour {
	first := d.heap[0]
	d.givenOut[first.Device] = true
	for len(d.heap) > 0 && d.givenOut[d.heap[0].Device] {
		last := len(d.heap) - 1
		d.heap[0] = d.heap[last]
		d.heap = d.heap[:last]
		d.sink(0)
	}
	return first
}

// First takes the first devices, n of which have their first entry within the span. It returns the
// end of the span up to which no other device has entries.
func (d *Devices) First(n int) (some []layout.InHour, until andon.Time) {
	hourEnd := d.time(0)
	if d.order == andon.Asc {
		hourEnd = andon.HourStart(d.hour+1) - 1
	}
	until = hourEnd
	for len(d.heap) > 0 && (n > 0 || !d.beyond(d.heap[0], layout.Until(d.span, until, d.order))) {
		one := d.take()
		some = append(some, one)
		if n > 0 && d.begins(one) {
			if n--; n == 0 {
				until = d.bound(one)
			}
		}
	}
	if len(d.heap) == 0 {
		return some, hourEnd
	}
	return some, until
}

// After returns the devices, and then the others as long as they may have what is wanted.
func (d *Devices) After(devices []layout.InHour) Next {
	first := InTurn(devices)
	return func(wanted andon.Span) (one layout.InHour, ok bool) {
		if one, ok = first(wanted); ok || len(d.heap) == 0 {
			return one, ok
		}
		one = d.take()
		return one, !d.beyond(one, wanted)
	}
}

// InTurn returns the devices as they are.
func InTurn(devices []layout.InHour) Next {
	devices = slices.Clip(devices)
	return func(andon.Span) (d layout.InHour, ok bool) {
		if ok = len(devices) > 0; ok {
			d, devices = devices[0], devices[1:]
		}
		return d, ok
	}
}

// time returns when a millisecond of the hour begins.
func (d *Devices) time(milli uint32) andon.Time {
	return andon.HourStart(d.hour) + andon.Time(milli)*millisecond
}

// bound returns up to when a device has its first entry in the order.
func (d *Devices) bound(one layout.InHour) andon.Time {
	if d.order == andon.Desc {
		return d.time(one.Newest)
	}
	return d.time(one.Oldest+1) - 1
}

// begins reports whether a device has its first entry in the order within the span: of one that
// reaches beyond the span it is not known when the first within it is.
func (d *Devices) begins(one layout.InHour) bool {
	if d.order == andon.Desc {
		return d.span.To == 0 || d.time(one.Newest+1) <= d.span.To
	}
	oldest := d.time(one.Oldest)
	return oldest > d.span.From || !d.resumed && oldest == d.span.From
}

// beyond reports whether neither a device nor those after it have entries within a span.
func (d *Devices) beyond(one layout.InHour, span andon.Span) bool {
	if d.order == andon.Desc {
		return d.time(one.Newest+1) <= span.From
	}
	return span.To != 0 && d.time(one.Oldest) > span.To
}
