package bench

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/andonhq/andon"
)

// ask is a question that is asked again and again, one at a time; n says which device or person it
// is about.
type ask func(ctx context.Context, n int) error

// asks are what people ask of a fleet that has reported. Lists are read in the largest pages.
func (r *run) asks() (loads []load) {
	add := func(name string, a ask) { loads = append(loads, r.asking(name, a)) }
	for _, h := range r.fleet.homes {
		if h.devices > andon.MaxLimit {
			first := fmt.Sprintf("devices in a state: first %s of %s",
				grouped(andon.MaxLimit), grouped(h.devices))
			add(first, func(ctx context.Context, _ int) error {
				return r.readDevices(ctx, h.state, andon.MaxLimit)
			})
		}
		add("devices in a state: all "+grouped(h.devices), func(ctx context.Context, _ int) error {
			return r.readDevices(ctx, h.state, h.devices)
		})
	}
	add("what a device shows", r.askDevice)
	add("counts of all states", r.askCounts)
	add("last 100 entries of a device", r.askLast)
	add("first 100 of an operator's hour", r.askHour)
	return loads
}

func (r *run) asking(name string, a ask) load {
	return load{name, func(ctx context.Context) (row Row, err error) {
		r.tell(0)
		s, err := r.drive(ctx, job{
			callers: 1, next: new(atomic.Int64), length: r.Duration,
			do: func(ctx context.Context, n int64, _ *stopwatch) error { return a(ctx, int(n)) },
		})
		if err == nil {
			row.note(1, []*spell{s})
		}
		return row, err
	}}
}

// readDevices reads so many devices that are in a state, page by page.
func (r *run) readDevices(ctx context.Context, state andon.State, want int) error {
	filter, err := andon.ParseStateFilter(string(state))
	if err != nil {
		return err
	}
	q := andon.DeviceQuery{States: filter}
	for left := want; left > 0; {
		q.Limit = min(left, andon.MaxLimit)
		read := 0
		for d, err := range r.subject.Store.Devices(ctx, r.Tenant, q) {
			if err != nil {
				return err
			}
			read++
			q.After = new(d.Position())
		}
		if read < q.Limit {
			return andon.Errorf(andon.Internal,
				"the store is wrong: it has %d devices in %s, not %d", want-left+read, state, want)
		}
		left -= read
	}
	return nil
}

// askLeft asks for the first devices in the state that every device enters now and then and leaves
// in its next round: what a list costs where much was deleted. How many are in it depends on how
// far the fleet came.
func (r *run) askLeft(ctx context.Context, _ int) error {
	filter, err := andon.ParseStateFilter("WARNING1")
	if err != nil {
		return err
	}
	q := andon.DeviceQuery{States: filter, Limit: 100}
	for _, err := range r.subject.Store.Devices(ctx, r.Tenant, q) {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) askDevice(ctx context.Context, n int) error {
	_, err := r.subject.Store.Device(ctx, r.Tenant, r.fleet.devices[r.fleet.turns.at(n%r.Devices)])
	return err
}

func (r *run) askCounts(ctx context.Context, _ int) error {
	_, err := r.subject.Store.Counts(ctx, r.Tenant, 0)
	return err
}

func (r *run) askLast(ctx context.Context, n int) error {
	device := r.fleet.devices[r.fleet.busy(n%busyDevices)]
	found := r.subject.Store.DeviceEvents(ctx, r.Tenant, device, andon.EventQuery{Limit: 100})
	return expect(found, 100)
}

// askHour asks for the hour in which the fleet began to report.
func (r *run) askHour(ctx context.Context, n int) error {
	from := andon.HourStart(r.fleet.timeOf(0, busyRounds).Hour())
	q := andon.EventQuery{
		Span: andon.Span{From: from, To: from.Add(andon.Duration(3_600_000_000)) - 1}, Limit: 100,
	}
	operator := n % len(r.fleet.operators)
	team := min(devicesOfOperator, r.Devices-operator*devicesOfOperator)
	found := r.subject.Store.OperatorEvents(ctx, r.Tenant, r.fleet.operators[operator], q)
	return expect(found, min(team, 100))
}

// expect reads a list, which must have so many entries at least.
func expect(list iter.Seq2[andon.Event, error], least int) error {
	read := 0
	for _, err := range list {
		if err != nil {
			return err
		}
		read++
	}
	if read < least {
		return andon.Errorf(andon.Internal,
			"the store is wrong: a list has %d entries, not %d", read, least)
	}
	return nil
}
