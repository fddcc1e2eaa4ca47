package pebblestore

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// A posting says which devices may have entries of an operator in an hour: their numbers in
// ascending order, each as a count from the one before. Rounds write it, and a large one in parts.
const postingDevices = 4096 // of one part

func appendPosting(b []byte, numbers []uint32) []byte {
	last := uint32(0)
	for _, n := range numbers {
		b, last = binary.AppendUvarint(b, uint64(n-last)), n
	}
	return b
}

func readPosting(numbers []uint32, value []byte) ([]uint32, error) {
	for last := uint64(0); len(value) > 0; {
		n, rest, ok := takeCount(value)
		if last += n; !ok || last > math.MaxUint32 {
			return numbers, errDamaged
		}
		numbers, value = append(numbers, uint32(last)), rest
	}
	return numbers, nil
}

// hourOf is an hour, and the devices that an operator may have entries of in it.
type hourOf struct {
	hour    uint32
	devices []logged
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
				if !yield(r.ofHour(operator, rest[0], nil)) {
					return false
				}
			}
			return true
		}
		for p, err := range r.postings(operator, first, last, q.Order) {
			if err != nil || !headsUntil(func(hour uint32) bool { return before(hour, p.hour) }) {
				return err
			}
			if len(rest) > 0 && rest[0] == p.hour {
				rest = rest[1:]
			}
			if !yield(r.ofHour(operator, p.hour, p.numbers)) {
				return nil
			}
		}
		headsUntil(func(uint32) bool { return true })
		return nil
	})
}

// ofHour joins the devices of postings with those of the heads. A device that was purged has no
// place any more.
func (r *eventReader) ofHour(operator andon.PersonID, hour uint32, numbers []uint32) hourOf {
	numbers = append(numbers, r.heads.devices(r.tenant.number, operator, hour)...)
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	h := hourOf{hour: hour, devices: make([]logged, 0, len(numbers))}
	r.store.mu.RLock()
	defer r.store.mu.RUnlock()
	for _, n := range numbers {
		if slot := r.tenant.slot(n); slot != nil {
			h.devices = append(h.devices, r.numbered(slot.Shown().ID, n))
		}
	}
	return h
}

// posted is an hour of postings, all parts of it.
type posted struct {
	hour    uint32
	numbers []uint32
}

// postings returns what is on the disk of the hours of an operator, from a first to a last one.
func (r *eventReader) postings(
	operator andon.PersonID, first, last uint32, order andon.Order,
) iter.Seq2[posted, error] {
	prefix := newKey(tablePosting, r.tenant.number).text(string(operator))
	from := bytes.Clone(prefix.number(first))
	return seq.Of(func(yield func(posted) bool) error {
		it, err := newIterator(r.ctx, r.store.db, from, prefix.number(last).end())
		if err != nil {
			return err
		}
		defer it.close()
		start, move := it.byTime(order)
		var p posted
		for ok := start(); ok; ok = move() {
			hour, _, whole := takeNumber(it.Key()[len(prefix):])
			if !whole {
				return errDamaged
			}
			value, err := it.ValueAndErr()
			if err == nil && hour != p.hour {
				if len(p.numbers) > 0 && !yield(p) {
					return nil
				}
				p = posted{hour: hour}
			}
			if err == nil {
				p.numbers, err = readPosting(p.numbers, value)
			}
			if err != nil {
				return err
			}
		}
		if err := it.Error(); err != nil {
			return err
		}
		if len(p.numbers) > 0 {
			yield(p)
		}
		return nil
	})
}

// hour returns the entries of an operator in an hour, in the query's order, at most most of them.
// What can't be among those any more is not read, so memory and work are bounded.
func (r *eventReader) hour(
	h hourOf, operator andon.PersonID, q *andon.EventQuery, most int,
) ([]hit, error) {
	within := *q
	first, last := andon.HourStart(h.hour), andon.HourStart(h.hour+1)-1
	within.Span = q.Span.Since(first).Until(last)
	var all []hit
	for i := range h.devices {
		d := &h.devices[i]
		// All of the device's entries: whose they are is known only once they are read.
		hits, err := r.fromBlocks(
			r.fromHeads(d, &within, math.MaxInt), d, first.Day(), &within, math.MaxInt)
		if err != nil {
			return nil, err
		}
		for _, hit := range firstHits(hits, q.Order, math.MaxInt) {
			if hit.event.Operator == operator {
				all = append(all, hit)
			}
		}
		if len(all)/2 >= most {
			all = firstHits(all, q.Order, most)
			within.Span = upTo(within.Span, all[most-1].key.Time, q.Order)
		}
	}
	all = firstHits(all, q.Order, most)
	for i := range all {
		if err := r.escalate(all[i].event.Device, all[i:i+1]); err != nil {
			return nil, err
		}
	}
	return all, nil
}
