package pebblestore

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
)

// failed is the sequence that ends at once with an error.
func failed[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

// DeviceEvents is of andon.Log.
func (s *Store) DeviceEvents(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return failed[andon.Event](err)
	}
	return func(yield func(andon.Event, error) bool) {
		r, err := newEventReader(ctx, s.db, t)
		if err != nil {
			yield(andon.Event{}, err)
			return
		}
		defer r.close()
		for e, err := range r.device(device, q) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// eventReader reads the entries of any number of devices of a tenant, with two iterators.
type eventReader struct {
	scan      *scan
	directory *directory
}

func newEventReader(ctx context.Context, r pebble.Reader, t *tenant) (*eventReader, error) {
	scan, err := newScan(ctx, r, t)
	if err != nil {
		return nil, err
	}
	directory, err := newDirectory(ctx, r, t, tableDay)
	if err != nil {
		scan.close()
		return nil, err
	}
	return &eventReader{scan, directory}, nil
}

func (r *eventReader) close() {
	r.scan.close()
	r.directory.close()
}

// device returns the entries of one device that a query selects. It reads a day at a time, of each
// only as much as is still wanted.
func (r *eventReader) device(
	device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return func(yield func(andon.Event, error) bool) {
		if q.Span.Empty() {
			return
		}
		left := q.Limit
		var hits []hit
		for day, err := range r.directory.days(device, q.Rest(), q.Order) {
			if err == nil {
				hits, err = r.scan.day(hits[:0], device, day, &q, left)
			}
			if err != nil {
				yield(andon.Event{}, err)
				return
			}
			hits = sortHits(hits, q.Order, left)
			for i := range hits {
				if !yield(hits[i].event, nil) {
					return
				}
			}
			if left -= len(hits); left == 0 {
				return
			}
		}
	}
}

// Entry is of andon.Log.
func (s *Store) Entry(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return andon.Entry{}, err
	}
	return entry(ctx, s.db, t, device, at, state)
}

func entry(
	ctx context.Context, r pebble.Reader, t *tenant,
	device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	e := andon.Entry{Event: andon.Event{Device: device, Time: at, State: state}}
	k := eventKey(t.number, device, at, state)
	it, err := newIterator(ctx, r, k, k.end())
	if err != nil {
		return e, err
	}
	defer it.close()
	if !it.First() || !bytes.Equal(it.Key(), k) {
		if err := it.Error(); err != nil {
			return e, err
		}
		return e, andon.NoEntry(device, at, state)
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return e, fmt.Errorf("read entry: %w", err)
	}
	if err := readEvent(&e.Event, value); err != nil {
		return e, err
	}
	if t.withdrawn.has(device, at, state) {
		ref := andon.EntryRef{Time: at, State: state}
		if e.Withdrawn, err = withdrawal(r, t, device, ref); err != nil {
			return e, err
		}
	}
	for it.Next() {
		escalation, err := escalationAt(it, len(k))
		if err != nil {
			return e, err
		}
		escalation.Device, escalation.Time, escalation.State = device, at, state
		e.Escalations = append(e.Escalations, escalation)
	}
	if len(e.Escalations) > 0 {
		e.EscalatedTo = e.Escalations[0].To
	}
	return e, it.Error()
}

// escalationAt reads the escalation that an iterator is at; the key of its entry is n bytes long.
func escalationAt(it *iterator, n int) (e andon.Escalation, err error) {
	at, to, ok := takeInvertedTime(it.Key()[n:])
	if !ok {
		return e, errDamaged
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return e, fmt.Errorf("read escalation: %w", err)
	}
	e.At, e.To = at, andon.PersonID(to)
	return e, readEscalation(&e, value)
}

// OperatorEvents is of andon.Log. The index rows say in which hours which devices may have entries
// of the operator; each entry is asked whose it is.
func (s *Store) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return failed[andon.Event](err)
	}
	return func(yield func(andon.Event, error) bool) {
		if q.Span.Empty() {
			return
		}
		scan, err := newScan(ctx, s.db, t)
		if err != nil {
			yield(andon.Event{}, err)
			return
		}
		defer scan.close()
		left := q.Limit
		for hour, err := range s.operatorHours(ctx, t, operator, &q) {
			var hits []hit
			if err == nil {
				hits, err = scan.hour(hour, operator, &q, left)
			}
			if err != nil {
				yield(andon.Event{}, err)
				return
			}
			for i := range hits {
				if !yield(hits[i].event, nil) {
					return
				}
			}
			if left -= len(hits); left == 0 {
				return
			}
		}
	}
}

// devicesOfHour are the devices that an operator may have entries of in one hour.
type devicesOfHour struct {
	hour    uint32
	devices []andon.DeviceID
}

// operatorHours returns the hours of an operator within a query's span, in its order.
func (s *Store) operatorHours(
	ctx context.Context, t *tenant, operator andon.PersonID, q *andon.EventQuery,
) iter.Seq2[devicesOfHour, error] {
	prefix := newKey(tableOperator, t.number).text(string(operator))
	span := q.Rest()
	from, behind := bytes.Clone(prefix.number(span.From.Hour())), prefix.end()
	if span.To != 0 {
		behind = prefix.number(span.To.Hour() + 1)
	}
	return func(yield func(devicesOfHour, error) bool) {
		it, err := newIterator(ctx, s.db, from, behind)
		if err != nil {
			yield(devicesOfHour{}, err)
			return
		}
		defer it.close()
		start, move := it.byTime(q.Order)
		var h devicesOfHour
		for ok := start(); ok; ok = move() {
			hour, rest, ok1 := takeNumber(it.Key()[len(prefix):])
			device, _, ok2 := takeText(rest)
			if !ok1 || !ok2 {
				yield(h, errDamaged)
				return
			}
			if hour != h.hour {
				if len(h.devices) > 0 && !yield(h, nil) {
					return
				}
				h = devicesOfHour{hour: hour}
			}
			h.devices = append(h.devices, andon.DeviceID(device))
		}
		if err := it.Error(); err != nil {
			yield(h, err)
		} else if len(h.devices) > 0 {
			yield(h, nil)
		}
	}
}

// hour returns the entries of an operator in an hour, in the query's order, at most most of them.
// What can't be among those any more is not read, so memory and work are bounded.
func (s *scan) hour(
	h devicesOfHour, operator andon.PersonID, q *andon.EventQuery, most int,
) ([]hit, error) {
	within := *q
	first, last := andon.HourStart(h.hour), andon.HourStart(h.hour+1)-1
	within.Span = q.Span.Since(first).Until(last)
	var all, hits []hit
	var err error
	for _, device := range h.devices {
		// All of the device's entries: whose they are is known only once they are read.
		if hits, err = s.day(hits[:0], device, first.Day(), &within, math.MaxInt); err != nil {
			return nil, err
		}
		for i := range hits {
			if hits[i].event.Operator == operator {
				all = append(all, hits[i])
			}
		}
		if len(all) >= 2*most {
			all = sortHits(all, q.Order, most)
			within.Span = upTo(within.Span, all[most-1].key.Time, q.Order)
		}
	}
	return sortHits(all, q.Order, most), nil
}

// upTo returns the part of a span that a list in an order has up to a time.
func upTo(span andon.Span, last andon.Time, order andon.Order) andon.Span {
	if order == andon.Desc {
		return span.Since(last)
	}
	return span.Until(last)
}

// SupervisorEvents is of andon.Log. The index rows say which entries were ever escalated to the
// supervisor; each entry is asked whether it is now.
func (s *Store) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return failed[andon.Event](err)
	}
	return func(yield func(andon.Event, error) bool) {
		if q.Span.Empty() {
			return
		}
		left := q.Limit
		for k, err := range s.supervisorKeys(ctx, t, supervisor, &q) {
			var e andon.Entry
			if err == nil {
				e, err = entry(ctx, s.db, t, k.Device, k.Time, k.State)
			}
			if err != nil && andon.KindOf(err) != andon.NotFound {
				yield(andon.Event{}, err)
				return
			}
			if err != nil || e.EscalatedTo != supervisor || e.Withdrawn != nil {
				continue
			}
			if left--; !yield(e.Event, nil) || left == 0 {
				return
			}
		}
	}
}

// supervisorKeys returns the entries that the index rows name and the query admits, in its order.
// Index rows are in the order of time; those of one instant are put into the order of entries here.
func (s *Store) supervisorKeys(
	ctx context.Context, t *tenant, supervisor andon.PersonID, q *andon.EventQuery,
) iter.Seq2[andon.EventKey, error] {
	prefix := newKey(tableSupervisor, t.number).text(string(supervisor))
	span := q.Rest()
	from, behind := bytes.Clone(prefix.time(span.From)), prefix.end()
	if span.To != 0 {
		behind = prefix.time(span.To + 1)
	}
	return func(yield func(andon.EventKey, error) bool) {
		it, err := newIterator(ctx, s.db, from, behind)
		if err != nil {
			yield(andon.EventKey{}, err)
			return
		}
		defer it.close()
		start, move := it.byTime(q.Order)
		var instant []andon.EventKey
		flush := func() bool {
			slices.SortFunc(instant, func(a, b andon.EventKey) int {
				if q.Order == andon.Desc {
					a, b = b, a
				}
				return a.Compare(b)
			})
			for _, k := range instant {
				if !yield(k, nil) {
					return false
				}
			}
			instant = instant[:0]
			return true
		}
		for ok := start(); ok; ok = move() {
			k, ok := splitSupervisor(it.Key()[len(prefix):])
			if !ok {
				yield(k, errDamaged)
				return
			}
			k.Severity = t.states().Severity(k.State)
			if len(instant) > 0 && instant[0].Time != k.Time && !flush() {
				return
			}
			if q.Admits(k) {
				instant = append(instant, k)
			}
		}
		if err := it.Error(); err != nil {
			yield(andon.EventKey{}, err)
			return
		}
		flush()
	}
}
