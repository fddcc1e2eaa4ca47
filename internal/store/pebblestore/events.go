package pebblestore

import (
	"context"
	"fmt"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/index"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// listIn is what walk yields of a tenant.
func listIn[T any](
	ctx context.Context, s *Store, id andon.TenantID,
	walk func(t *tenant, yield func(T) bool) error,
) iter.Seq2[T, error] {
	return seq.Behind(func() (*tenant, error) { return s.tenant(ctx, id) }, walk)
}

// DeviceEvents implements andon.Log.
func (s *Store) DeviceEvents(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Event) bool) error {
		r := newEventReader(ctx, s, t)
		defer r.close()
		for h, err := range r.hits(device, &q) {
			if err != nil || !yield(h.event) {
				return err
			}
		}
		return nil
	})
}

// Entry implements andon.Log.
func (s *Store) Entry(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return andon.Entry{}, err
	}
	r := newEventReader(ctx, s, t)
	defer r.close()
	return r.whole(device, at, state)
}

// whole returns one entry with all that is beside it.
func (r *eventReader) whole(
	device andon.DeviceID, at andon.Time, state andon.State,
) (e andon.Entry, err error) {
	if e.Event, err = r.entry(device, at, state); err != nil {
		return e, err
	}
	if r.tenant.withdrawn.contain(device, at, state) {
		ref := andon.EntryRef{Time: at, State: state}
		if e.Withdrawn, err = withdrawal(r.store.db, r.tenant, device, ref); err != nil {
			return e, err
		}
	}
	k := layout.NewKey(layout.TableEscalation, r.tenant.number).Entry(device, at, state)
	it, err := engine.NewIterator(r.ctx, r.store.db, k, k.End())
	if err != nil {
		return e, err
	}
	defer it.Release()
	for ok := it.First(); ok; ok = it.Next() {
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

// escalationAt reads the escalation that an iterator is at; what its key has of the entry is n
// bytes long.
func escalationAt(it *engine.Iterator, n int) (e andon.Escalation, err error) {
	at, to, ok := layout.TakeInvertedTime(it.Key()[n:])
	if !ok {
		return e, layout.ErrDamaged
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return e, fmt.Errorf("read escalation: %w", err)
	}
	e.At, e.To = at, andon.PersonID(to)
	return e, layout.ReadEscalation(&e, value)
}

// OperatorEvents implements andon.Log. The index rows say in which hours which devices may have
// entries of the operator; each entry is asked whose it is.
func (s *Store) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Event) bool) error {
		if q.Span.Empty() {
			return nil
		}
		r := newEventReader(ctx, s, t)
		defer r.close()
		left := q.Limit
		for hour, err := range index.Hours(ctx, s.db, r.heads, t.number, operator, &q) {
			var hits []hit
			if err == nil {
				hits, err = r.hour(hour, operator, &q, left)
			}
			if err != nil {
				return err
			}
			for i := range hits {
				if !yield(hits[i].event) {
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

// SupervisorEvents implements andon.Log. The index rows say which entries were ever escalated to
// the supervisor; each entry is asked whether it is now.
func (s *Store) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Event) bool) error {
		if q.Span.Empty() {
			return nil
		}
		r := newEventReader(ctx, s, t)
		defer r.close()
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
		escalated := index.Supervised(ctx, s.db, t.number, supervisor, &q, t.states().Severity)
		for k, err := range escalated {
			if err != nil {
				return err
			}
			if keys = append(keys, k); len(keys) < min(left, entriesStep) {
				continue
			}
			if err := answer(); err != nil || left == 0 {
				return err
			}
		}
		return answer()
	})
}

// compareKeys compares entries in an order.
func compareKeys(order andon.Order) func(a, b andon.EventKey) int {
	if order == andon.Asc {
		return andon.EventKey.Compare
	}
	return func(a, b andon.EventKey) int { return b.Compare(a) }
}
