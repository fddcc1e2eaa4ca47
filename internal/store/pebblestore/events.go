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
	return withContext(ctx, s.deviceEvents(s.db, t, device, q))
}

// withContext ends a sequence once its context has ended.
func withContext[T any](ctx context.Context, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for x, err := range seq {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(x, err) || err != nil {
				return
			}
		}
	}
}

// deviceEvents reads a day at a time, of each only as much as is still wanted.
func (s *Store) deviceEvents(
	r pebble.Reader, t *tenant, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return func(yield func(andon.Event, error) bool) {
		if q.Span.Empty() {
			return
		}
		err := s.eachDay(r, t, device, &q, func(hits []hit) bool {
			for i := range hits {
				if !yield(hits[i].event, nil) {
					return false
				}
			}
			return true
		})
		if err != nil {
			yield(andon.Event{}, err)
		}
	}
}

func (s *Store) eachDay(
	r pebble.Reader, t *tenant, device andon.DeviceID, q *andon.EventQuery, emit func([]hit) bool,
) error {
	scan, err := newScan(r, t)
	if err != nil {
		return err
	}
	defer scan.close()
	directory, err := newDirectory(r, t, tableDay)
	if err != nil {
		return err
	}
	defer directory.close()
	left := q.Limit
	var hits []hit
	for day, err := range directory.days(device, narrow(q), q.Order) {
		if err != nil {
			return err
		}
		if hits, err = scan.day(hits[:0], device, day, q, left); err != nil {
			return err
		}
		hits = sortHits(hits, q.Order, left)
		left -= len(hits)
		if !emit(hits) || left == 0 {
			return nil
		}
	}
	return nil
}

// narrow returns the part of the query's span that can still be behind its position.
func narrow(q *andon.EventQuery) andon.Span {
	span := q.Span
	switch {
	case q.After == nil:
	case q.Order == andon.Desc:
		span.To = earlier(span.To, q.After.Time)
	default:
		span.From = max(span.From, q.After.Time)
	}
	return span
}

// Entry is of andon.Log.
func (s *Store) Entry(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return andon.Entry{}, err
	}
	return entry(s.db, t, device, at, state)
}

func entry(
	r pebble.Reader, t *tenant, device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	e := andon.Entry{Event: andon.Event{Device: device, Time: at, State: state}}
	k := eventKey(t.number, device, at, state)
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: k, UpperBound: k.end()})
	if err != nil {
		return e, fmt.Errorf("read entry: %w", err)
	}
	defer it.Close()
	if !it.First() || !bytes.Equal(it.Key(), k) {
		if err := it.Error(); err != nil {
			return e, fmt.Errorf("read entry: %w", err)
		}
		return e, noEntry(device, at, state)
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return e, fmt.Errorf("read entry: %w", err)
	}
	if err := readEvent(&e.Event, value); err != nil {
		return e, err
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

func noEntry(device andon.DeviceID, at andon.Time, state andon.State) error {
	return andon.Errorf(andon.NotFound, "device %q has no entry at %s in state %q",
		device, at, state)
}

// escalationAt reads the escalation that an iterator is at; the key of its entry is n bytes long.
func escalationAt(it *pebble.Iterator, n int) (e andon.Escalation, err error) {
	at, rest, ok := takeInvertedTime(it.Key()[n:])
	if !ok || len(rest) != 0 {
		return e, errDamaged
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return e, fmt.Errorf("read escalation: %w", err)
	}
	e.At = at
	return e, readEscalation(&e, value)
}

// OperatorEvents is of andon.Log. The hints say in which hours which devices may have entries of
// the operator; each entry is asked whose it is.
func (s *Store) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return failed[andon.Event](err)
	}
	return withContext(ctx, func(yield func(andon.Event, error) bool) {
		if q.Span.Empty() {
			return
		}
		scan, err := newScan(s.db, t)
		if err != nil {
			yield(andon.Event{}, err)
			return
		}
		defer scan.close()
		left := q.Limit
		for hour, err := range s.operatorHours(t, operator, &q) {
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
	})
}

// devicesOfHour are the devices that an operator may have entries of in one hour.
type devicesOfHour struct {
	hour    uint32
	devices []andon.DeviceID
}

// operatorHours returns the hours of an operator within a query's span, in its order.
func (s *Store) operatorHours(
	t *tenant, operator andon.PersonID, q *andon.EventQuery,
) iter.Seq2[devicesOfHour, error] {
	prefix := newKey(tableOperator, t.number).text(string(operator))
	opts := &pebble.IterOptions{LowerBound: prefix, UpperBound: prefix.end()}
	span := narrow(q)
	opts.LowerBound = bytes.Clone(prefix.number(span.From.Hour()))
	if span.To != 0 {
		opts.UpperBound = bytes.Clone(prefix.number(span.To.Hour() + 1))
	}
	return func(yield func(devicesOfHour, error) bool) {
		it, err := s.db.NewIter(opts)
		if err != nil {
			yield(devicesOfHour{}, fmt.Errorf("read hours: %w", err))
			return
		}
		defer it.Close()
		start, move := it.Last, it.Prev
		if q.Order == andon.Asc {
			start, move = it.First, it.Next
		}
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
			yield(h, fmt.Errorf("read hours: %w", err))
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
	within.Span = andon.Span{From: max(q.Span.From, first), To: earlier(q.Span.To, last)}
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
	return andon.Span{From: span.From, To: earlier(span.To, last)}
}

// SupervisorEvents is of andon.Log. The hints say which entries were ever escalated to the
// supervisor; each entry is asked whether it is now.
func (s *Store) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return failed[andon.Event](err)
	}
	return withContext(ctx, func(yield func(andon.Event, error) bool) {
		if q.Span.Empty() {
			return
		}
		left := q.Limit
		for k, err := range s.supervisorKeys(t, supervisor, &q) {
			var e andon.Entry
			if err == nil {
				e, err = entry(s.db, t, k.Device, k.Time, k.State)
			}
			if err != nil && andon.KindOf(err) != andon.NotFound {
				yield(andon.Event{}, err)
				return
			}
			if err != nil || e.EscalatedTo != supervisor {
				continue
			}
			if left--; !yield(e.Event, nil) || left == 0 {
				return
			}
		}
	})
}

// supervisorKeys returns the entries that the hints name and the query admits, in its order. Hints
// are in the order of time; those of one instant are put into the order of entries here.
func (s *Store) supervisorKeys(
	t *tenant, supervisor andon.PersonID, q *andon.EventQuery,
) iter.Seq2[andon.EventKey, error] {
	prefix := newKey(tableSupervisor, t.number).text(string(supervisor))
	span := narrow(q)
	opts := &pebble.IterOptions{
		LowerBound: bytes.Clone(prefix.time(span.From)),
		UpperBound: prefix.end(),
	}
	if span.To != 0 {
		opts.UpperBound = bytes.Clone(prefix.time(span.To + 1))
	}
	return func(yield func(andon.EventKey, error) bool) {
		it, err := s.db.NewIter(opts)
		if err != nil {
			yield(andon.EventKey{}, fmt.Errorf("read escalated entries: %w", err))
			return
		}
		defer it.Close()
		start, move := it.Last, it.Prev
		if q.Order == andon.Asc {
			start, move = it.First, it.Next
		}
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
			yield(andon.EventKey{}, fmt.Errorf("read escalated entries: %w", err))
			return
		}
		flush()
	}
}
