package storecheck

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// arrivalChecks: entries in the order of their arrival.
func arrivalChecks() []Check {
	ordered := func(c andon.Capabilities) bool { return c.Arrivals }
	return []Check{
		check("2.17", "each position goes on in the order of arrival",
			eachArrival).needing(ordered),
	}
}

// Arrivals reads entries in the order of their arrival after a position until there are no more, a
// page at a time, and returns where to continue. The positions must rise, and those of pages must
// be those of items.
func Arrivals(
	ctx context.Context, s andon.Feed, id andon.TenantID, q andon.ArrivalQuery,
) (all []andon.Arrival, next andon.Position, err error) {
	for more := true; more; {
		part, err := s.Arrivals(ctx, id, q)
		if err != nil {
			return all, next, err
		}
		if len(part.Items) > q.Limit {
			return all, next, fmt.Errorf("%d items of at most %d", len(part.Items), q.Limit)
		}
		for _, item := range part.Items {
			if item.Position.Compare(next) <= 0 || item.Position.Compare(part.Next) > 0 {
				return all, next, fmt.Errorf("position %s comes after %s, and continues at %s",
					item.Position, next, part.Next)
			}
			next = item.Position
			all = append(all, item)
		}
		if part.More && q.After != nil && part.Next == *q.After {
			return all, next, fmt.Errorf("position %s does not continue", part.Next)
		}
		next, more = part.Next, part.More
		q.After = new(next)
	}
	return all, next, nil
}

// arrivedText writes an entry that arrived as d1/A@5m/Liz/Sara:text.
func (e *Env) arrivedText(a andon.Arrival) string {
	text := e.deviceEntryText(a.Event)
	for _, person := range []andon.PersonID{a.Operator, a.EscalatedTo} {
		if person != "" {
			text += "/" + string(person)
		}
	}
	if a.Message != "" {
		text += ":" + a.Message
	}
	return text
}

// arrivedSince lists what arrived since it was read first; that first time it is empty.
func arrivedSince(o options) lister {
	query := func(t turn) andon.ArrivalQuery {
		return andon.ArrivalQuery{
			After: new(t.arrivals[t.id]), States: o.states, Span: o.span, Limit: t.limit,
		}
	}
	list := listing(func(t turn) iter.Seq2[andon.Arrival, error] {
		return seq.Of(func(yield func(andon.Arrival) bool) error {
			all, _, err := Arrivals(t, t.Store, t.id, query(t))
			for _, item := range all {
				yield(item)
			}
			return err
		})
	}, (*Env).arrivedText)
	return func(t turn) (texts []string, err error) {
		if able := t.Store.Capabilities().Arrivals; !able {
			return nil, declared(able, second(t.Store.Arrivals(t, t.id, query(t))))
		}
		if _, read := t.arrivals[t.id]; !read {
			_, t.arrivals[t.id], err = t.Store.ChangesKept(t, t.id)
			return nil, err
		}
		return list(t)
	}
}

// wantArrived expects what arrived after a position.
func (e *Env) wantArrived(
	ctx context.Context, id andon.TenantID, q andon.ArrivalQuery, want []andon.Arrival,
) (next andon.Position, err error) {
	all, next, err := Arrivals(ctx, e.Store, id, q)
	if err == nil && !slices.Equal(all, want) {
		err = fmt.Errorf("after %v arrived %+v, want %+v", q.After, all, want)
	}
	return next, err
}

// eachArrival resumes after each entry, and at each position of the changes.
func eachArrival(ctx context.Context, e *Env, id andon.TenantID) error {
	before := e.newest(ctx, id)
	for i := range 3 {
		require(e.append(ctx, id, e.dealt(1, i*5)...))
	}
	q := andon.ArrivalQuery{After: &before, Limit: 100}
	all, end, err := Arrivals(ctx, e.Store, id, q)
	require(err)
	if len(all) == 0 {
		return errors.New("nothing arrived")
	}
	must(e.wantArrived(ctx, id, andon.ArrivalQuery{Limit: 2}, all)) // nothing of it is too old
	must(e.wantArrived(ctx, must(e.Tenant(ctx, "other")), andon.ArrivalQuery{Limit: 2}, nil))
	for i, a := range all {
		q := andon.ArrivalQuery{After: &a.Position, Limit: 1 + i%3}
		if next := must(e.wantArrived(ctx, id, q, all[i+1:])); next != end {
			return fmt.Errorf("after entry %d it ends at %s, not at %s", i, next, end)
		}
		// The changes continue there too, and none is left out.
		_, _, err := e.changes(ctx, id, a.Position)
		require(err)
	}
	_, positions, err := e.changes(ctx, id, before)
	require(err)
	last := len(all)
	for _, at := range slices.Backward(positions) {
		rest, _, err := Arrivals(ctx, e.Store, id, andon.ArrivalQuery{After: &at, Limit: 100})
		require(err)
		n := len(all) - len(rest)
		if n < 0 || n > last || !slices.Equal(rest, all[n:]) {
			return fmt.Errorf("after the change at %s arrived %+v", at, rest)
		}
		last = n
	}
	return nil
}
