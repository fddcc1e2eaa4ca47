package entries

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/index"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Operator returns the entries of an operator that a query selects. The index says in which hours
// which devices may have some; each entry is asked whose it is.
func (r *Reader) Operator(operator andon.PersonID, q andon.EventQuery) iter.Seq2[Hit, error] {
	return seq.Of(func(yield func(Hit) bool) error {
		left := q.Limit
		r.only = &operator
		hours := index.Hours(r.ctx, r.log.DB, r.memory, r.tenant.Number, operator, &q)
		for hour, err := range hours {
			var hits []Hit
			if err == nil {
				hits, err = r.hour(hour, &q, left)
			}
			if err != nil {
				return err
			}
			for i := range hits {
				if !yield(hits[i]) {
					return nil
				}
			}
			if left -= len(hits); left == 0 {
				break
			}
		}
		return nil
	})
}

// Supervisor returns the entries that are escalated to a supervisor now and that a query selects.
// The index says which entries were ever escalated to the supervisor.
func (r *Reader) Supervisor(
	supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return seq.Of(func(yield func(andon.Event) bool) error {
		left := q.Limit
		var keys []andon.EventKey
		// answer yields those of the keys that are escalated to the supervisor now.
		answer := func() error {
			events, err := r.escalatedTo(supervisor, keys)
			for i := 0; err == nil && i < len(events) && left > 0; i++ {
				if left--; !yield(events[i]) {
					left = 0
				}
			}
			keys = keys[:0]
			return err
		}
		escalated := index.Supervised(
			r.ctx, r.log.DB, r.tenant.Number, supervisor, &q, r.states.Severity)
		for k, err := range escalated {
			if err != nil {
				return err
			}
			if keys = append(keys, k); len(keys) < min(left, Step) {
				continue
			}
			if err := answer(); err != nil || left == 0 {
				return err
			}
		}
		return answer()
	})
}

// hour returns the entries of an operator in an hour, in the query's order, at most most of them. A
// posting nearly always says when a device has its first entry in the order. So the devices that
// come first by that have enough entries up to the last of these times: they are read alone, and no
// further, in the order in which they are stored. Where entries are withdrawn, or belong to another
// operator by now, that may be too few, and all are read.
func (r *Reader) hour(h index.Hour, q *andon.EventQuery, most int) (all []Hit, err error) {
	within := *q
	first, last := andon.HourStart(h.Hour), andon.HourStart(h.Hour+1)-1
	within.Span = q.Span.Since(first).Until(last)
	rest := index.NewDevices(h, &within)
	some, until := rest.First(most)
	slices.SortFunc(some, layout.ByDevice)
	narrow := within
	narrow.Span = layout.Until(within.Span, until, q.Order)
	all, err = r.ofDevices(index.InTurn(some), first.Day(), narrow, most)
	if err == nil && len(all) < most && !rest.Empty() {
		all, err = r.ofDevices(rest.After(some), first.Day(), within, most)
	}
	if err != nil {
		return nil, err
	}
	return all, r.escalateEach(all)
}

// escalateEach enters the newest escalations into hits of several devices: in the order in which
// escalations are stored.
func (r *Reader) escalateEach(hits []Hit) error {
	for _, i := range sortedIndexes(len(hits), func(a, b int) int {
		return cmp.Compare(hits[a].Event.Device, hits[b].Event.Device)
	}) {
		if err := r.escalate(hits[i].Event.Device, hits[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// ofDevices returns the first entries of an operator in the devices that come next. All of their
// entries are read: whose they are is known only then. What is wanted becomes less when there are
// enough.
func (r *Reader) ofDevices(
	next index.Next, day uint32, q andon.EventQuery, most int,
) (all []Hit, err error) {
	const few = 16 // devices that are looked for at once for a shorter list
	step := min(max(most, few), Step)
	all = slices.Grow(r.buffers.all[:0], min(most, pageHits))
	defer func() { r.buffers.all = all[:0] }()
	enough := most // hits with which it is worth looking which are the first
	for some := r.place(next, q.Rest(), step); len(some) > 0; some = r.place(next, q.Rest(), step) {
		hits, err := r.ofSome(some, day, &q)
		if err != nil {
			return nil, err
		}
		all = append(all, r.ofOperator(hits, q.Order)...)
		if len(all) >= enough {
			all = firstHits(all, q.Order, most)
			q.Span = layout.Until(q.Span, all[len(all)-1].Event.Time, q.Order)
			enough = 2 * most
		}
	}
	return firstHits(all, q.Order, most), nil
}

// place takes the next devices, at most n, in ascending order. A device that was purged has no
// number any more.
func (r *Reader) place(next index.Next, wanted andon.Span, n int) []deviceLog {
	some := r.placed[:0]
	r.shown.Lock()
	for len(some) < n {
		d, ok := next(wanted)
		if !ok {
			break
		}
		if id, ok := r.fleet.Device(d.Device); ok {
			some = append(some, deviceLog{id: id, number: d.Device})
		}
	}
	r.shown.Unlock()
	slices.SortFunc(some, func(a, b deviceLog) int { return cmp.Compare(a.number, b.number) })
	for i := range some {
		some[i] = r.numbered(some[i].id, some[i].number)
	}
	r.placed = some
	return some
}

// ofOperator puts hits into an order, and leaves out those that are of another operator: whose an
// entry is says the one of its deliveries that wins.
func (r *Reader) ofOperator(hits []Hit, order andon.Order) []Hit {
	hits = firstHits(hits, order, math.MaxInt)
	times := make(map[andon.Time]bool, len(hits))
	for i := range hits {
		times[hits[i].Event.Time] = true
	}
	for i := range r.rivals {
		rival := &r.rivals[i]
		if !times[rival.time] {
			continue
		}
		is := Hit{Severity: r.states.Severity(rival.state), Event: andon.Event{
			Device: rival.device.id, Time: rival.time, State: rival.state,
		}}
		at, found := sort.Find(len(hits), func(k int) int { return is.compare(&hits[k], order) })
		if found && hits[at].delivery < rival.delivery {
			hits[at].lost = true
		}
	}
	return slices.DeleteFunc(hits, func(h Hit) bool { return h.lost })
}

// ofSome returns the entries of devices, in no order, and perhaps several deliveries of one; those
// of other operators become rivals. It looks into one run after the other, in each for the devices
// in the order in which they are stored there.
func (r *Reader) ofSome(devices []deviceLog, day uint32, q *andon.EventQuery) ([]Hit, error) {
	hits := slices.Grow(r.buffers.hits[:0], len(devices))
	r.rivals = r.rivals[:0]
	for i := range devices {
		hits = r.takeMemory(hits, &devices[i], q, math.MaxInt)
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
			hits, _, err = r.takeRun(hits, &devices[i], day, run.RunID, span, q, math.MaxInt)
			if err != nil {
				return nil, err
			}
		}
	}
	r.buffers.hits = hits
	return hits, nil
}
