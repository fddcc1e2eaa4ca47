package pebblestore

import (
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/eventlog"
	"github.com/andonhq/andon/internal/seq"
)

// A posting says which devices may have entries of an operator in an hour, and between which times:
// for each its number, as a count from the one before, the millisecond of its oldest entry in that
// hour, and how many more until that of its newest. Rounds write it, and a large one in parts.
const postingDevices = 4096 // of one part

type inHour = eventlog.InHour

const milli = andon.Time(time.Millisecond / time.Microsecond)

// joined puts devices into ascending order, each once.
func joined(devices []inHour) []inHour {
	if !slices.IsSortedFunc(devices, byDevice) { // else it is one posting
		slices.SortFunc(devices, byDevice)
	}
	all := devices[:0]
	for _, d := range devices {
		last := len(all) - 1
		if last < 0 || all[last].Device != d.Device {
			all = append(all, d)
			continue
		}
		all[last].Oldest = min(all[last].Oldest, d.Oldest)
		all[last].Newest = max(all[last].Newest, d.Newest)
	}
	return all
}

func byDevice(a, b inHour) int { return cmp.Compare(a.Device, b.Device) }

func appendPosting(b []byte, devices []inHour) []byte {
	last := uint32(0)
	for _, d := range devices {
		b = binary.AppendUvarint(b, uint64(d.Device-last))
		b = binary.AppendUvarint(b, uint64(d.Oldest))
		b = binary.AppendUvarint(b, uint64(d.Newest-d.Oldest))
		last = d.Device
	}
	return b
}

func readPosting(devices []inHour, value []byte) ([]inHour, error) {
	return readPostingIn(devices, value, milliSpan{0, math.MaxUint32})
}

// readPostingIn reads those devices of a posting that may have entries within a part of the hour.
// It reads numbers without a wire, which takes twice as long for a thousand devices.
func readPostingIn(devices []inHour, value []byte, within milliSpan) ([]inHour, error) {
	last := uint64(0)
	for at := 0; at < len(value); {
		device, n := binary.Uvarint(value[at:])
		at += max(n, 0)
		oldest, m := binary.Uvarint(value[at:])
		at += max(m, 0)
		more, k := binary.Uvarint(value[at:])
		at += max(k, 0)
		last += device
		if min(n, m, k) <= 0 || max(device, last) > math.MaxUint32 || max(oldest, more) >= 1<<31 {
			return devices, errDamaged
		}
		d := inHour{Device: uint32(last), Oldest: uint32(oldest), Newest: uint32(oldest + more)}
		if within.meets(d) {
			devices = append(devices, d)
		}
	}
	return devices, nil
}

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

func (s milliSpan) meets(d inHour) bool { return d.Newest >= s.from && d.Oldest <= s.to }

// hourOf is an hour, and the devices that an operator may have entries of in it.
type hourOf struct {
	hour    uint32
	devices []inHour
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

// ofHour joins the devices of postings with those of the heads, without those that have nothing
// within a span.
func (r *eventReader) ofHour(operator andon.PersonID, h hourOf, span andon.Span) hourOf {
	before := len(h.devices)
	h.devices = r.heads.appendHour(h.devices, r.tenant.number, operator, h.hour)
	within, kept := milliSpanOf(h.hour, span), h.devices[:before]
	for _, d := range h.devices[before:] {
		if within.meets(d) {
			kept = append(kept, d)
		}
	}
	h.devices = joined(kept)
	return h
}

// at returns when a millisecond of the hour begins.
func (h *hourOf) at(millisecond uint32) andon.Time {
	return andon.HourStart(h.hour) + andon.Time(millisecond)*milli
}

// postings returns what is on the disk of the hours of an operator within a span. The devices of
// an hour are valid until the next one.
func (r *eventReader) postings(
	operator andon.PersonID, span andon.Span, order andon.Order,
) iter.Seq2[hourOf, error] {
	first, last := span.From.Hour(), andon.Earlier(span.To, andon.MaxTime).Hour()
	prefix := newKey(tablePosting, r.tenant.number).text(string(operator))
	from := bytes.Clone(prefix.number(first))
	return seq.Of(func(yield func(hourOf) bool) error {
		it, err := newIterator(r.ctx, r.store.db, from, prefix.number(last).end())
		if err != nil {
			return err
		}
		defer it.close()
		start, move := it.byTime(order)
		p := hourOf{devices: r.room.devices[:0]}
		defer func() { r.room.devices = p.devices }()
		for ok := start(); ok; ok = move() {
			hour, _, whole := takeNumber(it.Key()[len(prefix):])
			if !whole {
				return errDamaged
			}
			value, err := it.ValueAndErr()
			if err == nil && hour != p.hour {
				if len(p.devices) > 0 && !yield(p) {
					return nil
				}
				p = hourOf{hour, p.devices[:0]}
			}
			if err == nil {
				p.devices, err = readPostingIn(p.devices, value, milliSpanOf(hour, span))
			}
			if err != nil {
				return err
			}
		}
		if err := it.Error(); err != nil {
			return err
		}
		if len(p.devices) > 0 {
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
	rest := newByBound(h, &within)
	some, until := rest.first(most)
	slices.SortFunc(some, byDevice)
	narrow := within
	narrow.Span = upTo(within.Span, until, q.Order)
	all, err = r.ofDevices(inTurn(some), operator, first.Day(), narrow, most)
	if err == nil && len(all) < most && rest.Len() > 0 {
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
type nextInHour func(wanted andon.Span) (d inHour, ok bool)

func inTurn(devices []inHour) nextInHour {
	return func(andon.Span) (d inHour, ok bool) {
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
	all = make([]hit, 0, step)
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

// byBound is a heap of the devices of an hour: first those whose entries may come first.
type byBound struct {
	hourOf
	order andon.Order
	span  andon.Span // that is wanted
	on    bool       // it is read on behind an entry, where the span begins
}

func newByBound(h hourOf, q *andon.EventQuery) *byBound {
	b := &byBound{h, q.Order, q.Rest(), q.After != nil}
	heap.Init(b)
	return b
}

// first takes the first devices, so many of which begin within the span, and returns the span's end
// up to which no other device has entries.
func (b *byBound) first(n int) (some []inHour, until andon.Time) {
	whole := b.at(0)
	if b.order == andon.Asc {
		whole = andon.HourStart(b.hour+1) - 1
	}
	until = whole
	for b.Len() > 0 && (n > 0 || !b.beyond(b.devices[0], upTo(b.span, until, b.order))) {
		d := b.next()
		some = append(some, d)
		if n > 0 && b.begins(d) {
			if n--; n == 0 {
				until = b.bound(d)
			}
		}
	}
	if b.Len() == 0 {
		return some, whole
	}
	return some, until
}

// bound returns up to when a device has its first entry in the order.
func (b *byBound) bound(d inHour) andon.Time {
	if b.order == andon.Desc {
		return b.at(d.Newest)
	}
	return b.at(d.Oldest+1) - 1
}

// begins reports whether a device has its first entry in the order within the span: of one that
// goes beyond it is not known when its first is.
func (b *byBound) begins(d inHour) bool {
	if b.order == andon.Desc {
		return b.span.To == 0 || b.at(d.Newest+1) <= b.span.To
	}
	return b.at(d.Oldest) > b.span.From || !b.on && b.at(d.Oldest) == b.span.From
}

// behind returns devices, and then the others as long as they may have what is wanted: so work
// follows the answer, not the number of devices.
func (b *byBound) behind(devices []inHour) nextInHour {
	first := inTurn(devices)
	return func(wanted andon.Span) (d inHour, ok bool) {
		if d, ok = first(wanted); ok || b.Len() == 0 {
			return d, ok
		}
		d = b.next()
		return d, !b.beyond(d, wanted)
	}
}

func (b *byBound) Len() int      { return len(b.devices) }
func (b *byBound) Swap(i, j int) { b.devices[i], b.devices[j] = b.devices[j], b.devices[i] }
func (b *byBound) Push(any)      {} // nothing comes back
func (b *byBound) Less(i, j int) bool {
	if b.order == andon.Desc {
		return b.devices[i].Newest > b.devices[j].Newest
	}
	return b.devices[i].Oldest < b.devices[j].Oldest
}

// next takes the first device out.
func (b *byBound) next() inHour {
	d := b.devices[0]
	heap.Pop(b)
	return d
}

// Pop is of heap.Interface. What it would return costs memory, and next has it.
func (b *byBound) Pop() any {
	b.devices = b.devices[:len(b.devices)-1]
	return nil
}

// beyond reports whether neither a device nor those behind it have entries within a span.
func (b *byBound) beyond(d inHour, span andon.Span) bool {
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
		if !run.meets(span) {
			continue
		}
		for i := range devices {
			var err error
			hits, _, err = r.fromRun(hits, &devices[i], day, run.sequence, span, q, math.MaxInt)
			if err != nil {
				return nil, err
			}
		}
	}
	r.room.hits = hits
	return firstHits(hits, q.Order, math.MaxInt), r.blocks.Error()
}
