package pebblestore

import (
	"bytes"
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

const milli = andon.Time(time.Millisecond / time.Microsecond)

// milliSpan is from one millisecond of an hour to another, both within it.
type milliSpan struct{ from, to uint32 }

// milliSpanOf returns which part of an hour is in a span that meets it.
func milliSpanOf(hour uint32, span andon.Span) milliSpan {
	part := milliSpan{0, math.MaxUint32}
	if span.From > andon.HourStart(hour) {
		part.from = eventlog.MilliOf(span.From)
	}
	if span.To != 0 && span.To < andon.HourStart(hour+1) {
		part.to = eventlog.MilliOf(span.To)
	}
	return part
}

func (s milliSpan) meets(d layout.InHour) bool { return d.Newest >= s.from && d.Oldest <= s.to }

// hourOf is an hour, and the devices that an operator may have entries of in it: those of heads, in
// no order, and those of each posting, in that of the query. A device may be in more than one.
type hourOf struct {
	hour     uint32
	inHeads  []layout.InHour
	postings [][]layout.InHour
}

// operatorHours returns the hours of an operator within a query's span, in its order: those of
// postings and those of the heads.
func (r *eventReader) operatorHours(
	operator andon.PersonID, q *andon.EventQuery,
) iter.Seq2[hourOf, error] {
	span := q.Rest()
	first, last := span.From.Hour(), andon.Earlier(span.To, andon.MaxTime).Hour()
	inHeads := slices.DeleteFunc(r.heads.hours(r.tenant.number, operator),
		func(hour uint32) bool { return hour < first || hour > last })
	before := func(a, b uint32) bool { return a < b }
	if q.Order == andon.Desc {
		slices.Reverse(inHeads)
		before = func(a, b uint32) bool { return a > b }
	}
	return seq.Of(func(yield func(hourOf) bool) error {
		rest := inHeads
		// headsUntil yields the hours that only the heads have.
		headsUntil := func(wanted func(hour uint32) bool) bool {
			for ; len(rest) > 0 && wanted(rest[0]); rest = rest[1:] {
				if !yield(r.ofHour(operator, hourOf{hour: rest[0]}, span)) {
					return false
				}
			}
			return true
		}
		for p, err := range r.postings(operator, span, q.Order) {
			if err != nil || !headsUntil(func(hour uint32) bool { return before(hour, p.hour) }) {
				return err
			}
			if len(rest) > 0 && rest[0] == p.hour {
				rest = rest[1:]
			}
			if !yield(r.ofHour(operator, p, span)) {
				return nil
			}
		}
		headsUntil(func(uint32) bool { return true })
		return nil
	})
}

// ofHour adds what the heads have of an hour within a span. It is valid until the next one.
func (r *eventReader) ofHour(operator andon.PersonID, h hourOf, span andon.Span) hourOf {
	all := r.heads.appendHour(r.room.devices[:0], r.tenant.number, operator, h.hour)
	r.room.devices = all
	within := milliSpanOf(h.hour, span)
	h.inHeads = slices.DeleteFunc(all, func(d layout.InHour) bool { return !within.meets(d) })
	return h
}

// at returns when a millisecond of the hour begins.
func (b *byBound) at(millisecond uint32) andon.Time {
	return andon.HourStart(b.hour) + andon.Time(millisecond)*milli
}

// postings returns what is on the disk of the hours of an operator within a span.
func (r *eventReader) postings(
	operator andon.PersonID, span andon.Span, order andon.Order,
) iter.Seq2[hourOf, error] {
	first, last := span.From.Hour(), andon.Earlier(span.To, andon.MaxTime).Hour()
	prefix := layout.NewKey(layout.TablePosting, r.tenant.number).Text(string(operator))
	from := bytes.Clone(prefix.Number(first))
	return seq.Of(func(yield func(hourOf) bool) error {
		it, err := engine.NewIterator(r.ctx, r.store.db, from, prefix.Number(last).End())
		if err != nil {
			return err
		}
		defer it.Release()
		start, move := it.ByTime(order)
		var p hourOf
		for ok := start(); ok; ok = move() {
			hour, _, whole := layout.TakeNumber(it.Key()[len(prefix):])
			if !whole {
				return layout.ErrDamaged
			}
			if hour != p.hour {
				if len(p.postings) > 0 && !yield(p) {
					return nil
				}
				p = hourOf{hour: hour}
			}
			value, err := it.ValueAndErr()
			var devices []layout.InHour
			if err == nil {
				devices, err = r.store.postings.read(it.Key(), value, order)
			}
			if err != nil {
				return err
			}
			p.postings = append(p.postings, devices)
		}
		if err := it.Error(); err != nil {
			return err
		}
		if len(p.postings) > 0 {
			yield(p)
		}
		return nil
	})
}

// hour returns the entries of an operator in an hour, in the query's order, at most most of them.
// A posting nearly always tells when a device has its first entry in the order. So the devices that
// come first by that have enough entries up to the last of these times: they are read alone, and no
// further. They are read as they stand beside each other in the store. Where entries are withdrawn,
// or are another's by now, that may be too few, and all is read on.
func (r *eventReader) hour(
	h hourOf, operator andon.PersonID, q *andon.EventQuery, most int,
) (all []hit, err error) {
	within := *q
	first, last := andon.HourStart(h.hour), andon.HourStart(h.hour+1)-1
	within.Span = q.Span.Since(first).Until(last)
	rest := newByBound(h, &within, r.room)
	some, until := rest.first(most)
	slices.SortFunc(some, layout.ByDevice)
	narrow := within
	narrow.Span = upTo(within.Span, until, q.Order)
	all, err = r.ofDevices(inTurn(some), operator, first.Day(), narrow, most)
	if err == nil && len(all) < most && len(rest.sources) > 0 {
		all, err = r.ofDevices(rest.behind(some), operator, first.Day(), within, most)
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

// nextInHour returns the next device to read while a span of the hour is still wanted.
type nextInHour func(wanted andon.Span) (d layout.InHour, ok bool)

func inTurn(devices []layout.InHour) nextInHour {
	return func(andon.Span) (d layout.InHour, ok bool) {
		if ok = len(devices) > 0; ok {
			d, devices = devices[0], devices[1:]
		}
		return d, ok
	}
}

// ofDevices returns the first entries of an operator in the devices that come next. All of their
// entries are read: whose they are is known only then. What is wanted becomes less when there are
// enough.
func (r *eventReader) ofDevices(
	next nextInHour, operator andon.PersonID, day uint32, q andon.EventQuery, most int,
) (all []hit, err error) {
	const few = 16 // devices that are looked for at once for a shorter list
	step := min(max(most, few), entriesStep)
	all = r.room.all[:0]
	defer func() { r.room.all = all[:0] }()
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
			q.Span = upTo(q.Span, all[len(all)-1].key.Time, q.Order)
			enough = 2 * most
		}
	}
	return firstHits(all, q.Order, most), nil
}

// byBound gives out the devices of an hour, each once: first those whose entries may come first.
type byBound struct {
	hour    uint32
	order   andon.Order
	span    andon.Span // that is wanted
	on      bool       // it is read on behind an entry, where the span begins
	within  milliSpan  // the part of the hour that is in the span
	sources []source   // a heap by their first devices, which are to be given out
	seen    map[uint32]bool
	some    *[]layout.InHour // room for first
}

// source is devices of an hour, the first one first. The others are in order, or a heap.
type source struct {
	devices []layout.InHour
	heap    bool
}

func newByBound(h hourOf, q *andon.EventQuery, room *room) *byBound {
	b := &byBound{
		hour: h.hour, order: q.Order, span: q.Rest(), on: q.After != nil, some: &room.some,
	}
	b.within = milliSpanOf(h.hour, b.span)
	if len(h.inHeads) > 0 {
		heapify(h.inHeads, b.before)
		b.sources = append(b.sources, source{h.inHeads, true})
	}
	for _, devices := range h.postings {
		b.sources = append(b.sources, source{devices, false})
	}
	if len(b.sources) > 1 || len(h.inHeads) > 0 { // a posting has each once
		if room.seen == nil {
			room.seen = map[uint32]bool{}
		}
		clear(room.seen)
		b.seen = room.seen
	}
	heapify(b.sources, b.beginsBefore)
	b.pass()
	return b
}

func (b *byBound) before(x, y *layout.InHour) bool { return inOrder(b.order)(*x, *y) < 0 }
func (b *byBound) beginsBefore(x, y *source) bool  { return b.before(&x.devices[0], &y.devices[0]) }

// heapify makes a heap: no element is before the one at half of its place.
func heapify[T any](heap []T, before func(x, y *T) bool) {
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i, before)
	}
}

// sink moves an element down to its place in a heap.
func sink[T any](heap []T, i int, before func(x, y *T) bool) {
	for {
		child := 2*i + 1
		if child+1 < len(heap) && before(&heap[child+1], &heap[child]) {
			child++
		}
		if child >= len(heap) || !before(&heap[child], &heap[i]) {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

// drop drops the first device of all.
func (b *byBound) drop() {
	s := &b.sources[0]
	if s.heap {
		last := len(s.devices) - 1
		s.devices[0] = s.devices[last]
		s.devices = s.devices[:last]
		sink(s.devices, 0, b.before)
	} else {
		s.devices = s.devices[1:]
	}
	b.dropped()
}

// dropped puts the first source to its place, or drops it where it is empty.
func (b *byBound) dropped() {
	if last := len(b.sources) - 1; len(b.sources[0].devices) == 0 {
		b.sources[0] = b.sources[last]
		b.sources = b.sources[:last]
	}
	sink(b.sources, 0, b.beginsBefore)
}

// pass passes over devices that have nothing in the span, and those that were given out. Those of a
// posting that are in order it passes over together: they may be all.
func (b *byBound) pass() {
	for len(b.sources) > 0 {
		s := &b.sources[0]
		n := 0
		for n < len(s.devices) && !b.wants(s.devices[n]) && !s.heap {
			n++
		}
		switch {
		case s.heap && !b.wants(s.devices[0]):
			b.drop()
		case n > 0:
			s.devices = s.devices[n:]
			b.dropped()
		case b.beyond(s.devices[0], b.span):
			b.sources = nil // as are all behind it
		default:
			return
		}
	}
}

// wants reports whether a device may have something in the span, and was not given out.
func (b *byBound) wants(d layout.InHour) bool { return b.within.meets(d) && !b.seen[d.Device] }

// peek returns the next device, where there is one.
func (b *byBound) peek() layout.InHour { return b.sources[0].devices[0] }

// first takes the first devices, so many of which begin within the span, and returns the span's end
// up to which no other device has entries.
func (b *byBound) first(n int) (some []layout.InHour, until andon.Time) {
	whole := b.at(0)
	if b.order == andon.Asc {
		whole = andon.HourStart(b.hour+1) - 1
	}
	until = whole
	some = (*b.some)[:0]
	for len(b.sources) > 0 && (n > 0 || !b.beyond(b.peek(), upTo(b.span, until, b.order))) {
		d := b.next()
		some = append(some, d)
		if n > 0 && b.begins(d) {
			if n--; n == 0 {
				until = b.bound(d)
			}
		}
	}
	*b.some = some
	if len(b.sources) == 0 {
		return some, whole
	}
	return some, until
}

// bound returns up to when a device has its first entry in the order.
func (b *byBound) bound(d layout.InHour) andon.Time {
	if b.order == andon.Desc {
		return b.at(d.Newest)
	}
	return b.at(d.Oldest+1) - 1
}

// begins reports whether a device has its first entry in the order within the span: of one that
// goes beyond it is not known when its first is.
func (b *byBound) begins(d layout.InHour) bool {
	if b.order == andon.Desc {
		return b.span.To == 0 || b.at(d.Newest+1) <= b.span.To
	}
	return b.at(d.Oldest) > b.span.From || !b.on && b.at(d.Oldest) == b.span.From
}

// behind returns devices, and then the others as long as they may have what is wanted: so work
// follows the answer, not the number of devices.
func (b *byBound) behind(devices []layout.InHour) nextInHour {
	first := inTurn(devices)
	return func(wanted andon.Span) (d layout.InHour, ok bool) {
		if d, ok = first(wanted); ok || len(b.sources) == 0 {
			return d, ok
		}
		d = b.next()
		return d, !b.beyond(d, wanted)
	}
}

// next takes the first device out.
func (b *byBound) next() layout.InHour {
	d := b.peek()
	if b.seen != nil {
		b.seen[d.Device] = true
	}
	b.drop()
	b.pass()
	return d
}

// beyond reports whether neither a device nor those behind it have entries within a span.
func (b *byBound) beyond(d layout.InHour, span andon.Span) bool {
	if b.order == andon.Desc {
		return b.at(d.Newest+1) <= span.From
	}
	return span.To != 0 && b.at(d.Oldest) > span.To
}

// place takes the next devices, at most n, in ascending order. A device that was purged has no
// place any more.
func (r *eventReader) place(next nextInHour, wanted andon.Span, n int) []logged {
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
	hits := r.room.hits[:0]
	for i := range devices {
		hits = r.fromHeads(hits, &devices[i], q, math.MaxInt)
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	span := q.Rest()
	for run := range r.runsOf(day, q.Order) {
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
	r.room.hits = hits
	return firstHits(hits, q.Order, math.MaxInt), r.blocks.Error()
}
