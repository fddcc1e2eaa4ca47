package pebblestore

import (
	"cmp"
	"math"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/index"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// hour returns the entries of an operator in an hour, in the query's order, at most most of them. A
// posting nearly always says when a device has its first entry in the order. So the devices that
// come first by that have enough entries up to the last of these times: they are read alone, and no
// further, in the order in which they are stored. Where entries are withdrawn, or belong to another
// operator by now, that may be too few, and all are read.
func (r *eventReader) hour(
	h index.Hour, operator andon.PersonID, q *andon.EventQuery, most int,
) (all []hit, err error) {
	within := *q
	first, last := andon.HourStart(h.Hour), andon.HourStart(h.Hour+1)-1
	within.Span = q.Span.Since(first).Until(last)
	rest := index.NewDevices(h, &within)
	some, until := rest.First(most)
	slices.SortFunc(some, layout.ByDevice)
	narrow := within
	narrow.Span = layout.Until(within.Span, until, q.Order)
	all, err = r.ofDevices(index.InTurn(some), operator, first.Day(), narrow, most)
	if err == nil && len(all) < most && !rest.Empty() {
		all, err = r.ofDevices(rest.After(some), operator, first.Day(), within, most)
	}
	if err != nil {
		return nil, err
	}
	return all, r.escalateEach(all)
}

// escalateEach enters the newest escalations into hits of several devices: in the order in which
// escalations stand beside each other.
func (r *eventReader) escalateEach(hits []hit) error {
	for _, i := range turnsOf(len(hits), func(a, b int) int {
		return cmp.Compare(hits[a].key.Device, hits[b].key.Device)
	}) {
		if err := r.escalate(hits[i].key.Device, hits[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// ofDevices returns the first entries of an operator in the devices that come next. All of their
// entries are read: whose they are is known only then. What is wanted becomes less when there are
// enough.
func (r *eventReader) ofDevices(
	next index.Next, operator andon.PersonID, day uint32, q andon.EventQuery, most int,
) (all []hit, err error) {
	const few = 16 // devices that are looked for at once for a shorter list
	step := min(max(most, few), entriesStep)
	all = r.buffers.all[:0]
	defer func() { r.buffers.all = all[:0] }()
	enough := most // hits with which it is worth looking which are the first
	for some := r.place(next, q.Rest(), step); len(some) > 0; some = r.place(next, q.Rest(), step) {
		hits, err := r.ofSome(some, day, &q)
		if err != nil {
			return nil, err
		}
		for i := range hits {
			if hits[i].event.Operator == operator {
				all = append(all, hits[i])
			}
		}
		if len(all) >= enough {
			all = firstHits(all, q.Order, most)
			q.Span = layout.Until(q.Span, all[len(all)-1].key.Time, q.Order)
			enough = 2 * most
		}
	}
	return firstHits(all, q.Order, most), nil
}

// place takes the next devices, at most n, in ascending order. A device that was purged has no
// place any more.
func (r *eventReader) place(next index.Next, wanted andon.Span, n int) []logged {
	some := r.placed[:0]
	r.store.mu.RLock()
	for len(some) < n {
		d, ok := next(wanted)
		if !ok {
			break
		}
		if r.tenant.fleet.At(d.Device) != nil {
			some = append(some, logged{id: r.tenant.fleet.ID(d.Device), number: d.Device})
		}
	}
	r.store.mu.RUnlock()
	slices.SortFunc(some, func(a, b logged) int { return cmp.Compare(a.number, b.number) })
	for i := range some {
		some[i] = r.numbered(some[i].id, some[i].number)
	}
	r.asked, r.placed = r.asked+len(some), some
	return some
}

// ofSome returns the entries of devices in a query's order. It looks into one run behind the other,
// in each for the devices as they stand beside each other there.
func (r *eventReader) ofSome(devices []logged, day uint32, q *andon.EventQuery) ([]hit, error) {
	hits := r.buffers.hits[:0]
	for i := range devices {
		hits = r.fromHeads(hits, &devices[i], q, math.MaxInt)
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	span := q.Rest()
	for run := range r.blocks.Runs(day, q.Order) {
		if !run.Meets(span) {
			continue
		}
		for i := range devices {
			var err error
			hits, _, err = r.fromRun(hits, &devices[i], day, run.RunID, span, q, math.MaxInt)
			if err != nil {
				return nil, err
			}
		}
	}
	r.buffers.hits = hits
	return firstHits(hits, q.Order, math.MaxInt), nil
}
