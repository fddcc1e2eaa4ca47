package dynamostore

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// OperatorEvents implements andon.Log: GSI1 by time.
func (s *Store) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	ctx = s.forAnswer(ctx)
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Event) bool) error {
		if err := ddb.ByIndex(ctx, "the entries of an operator"); err != nil {
			return err
		}
		span := q.Rest()
		ask := ddb.Query{
			Table: items.TableLog, Index: items.IndexOperator,
			Key:  ddb.Keys{Hash: items.AttrOperator, Sort: items.AttrDate},
			From: items.TimeText(span.From),
		}
		if span.To != 0 {
			ask.To = items.TimeText(min(span.To, andon.MaxTime))
		}
		all := items.IndexQueries(t, items.OfOperator, string(operator), ask)
		found := items.Found(ctx, s.db, t, q, all, items.ReadEvent)
		theirs := func(e *andon.Event) bool { return e.Operator == operator }
		return s.completing(t).answer(ctx, q.Limit, found, true, theirs, yield)
	})
}

// recheck returns entries that an index found as they are now. Those that may have changed since
// the index had them are read from the table.
func (c *completing) recheck(ctx context.Context, piece []event) ([]event, error) {
	if err := c.learn(ctx, piece); err != nil {
		return nil, err
	}
	var keys []ddb.Item
	for i := range piece {
		if e := &piece[i]; !c.proves(e) {
			keys = append(keys, places(c.devices[e.Device], e.Ref())...)
		}
	}
	found, err := c.store.eventsAt(ctx, c.tenant, keys)
	if err != nil {
		return nil, err
	}
	now := map[andon.EventKey]event{}
	for _, e := range found {
		now[andon.EventKey{Device: e.Device, Time: e.Time, State: e.State}] = e
	}
	kept := make([]event, 0, len(piece))
	for i := range piece {
		is, ok := piece[i], true
		if !c.proves(&is) {
			is, ok = now[andon.EventKey{Device: is.Device, Time: is.Time, State: is.State}]
		}
		if ok {
			kept = append(kept, is)
		}
	}
	return kept, nil
}

// proves reports whether the device of an entry proves that it is still as an index has it: it was
// written once, in the only place that it can have. So what proves many entries is one read.
func (c *completing) proves(e *event) bool {
	d := c.devices[e.Device]
	return e.Delivery != 0 && d.Partitions() == 1 && d.Owns(e.Partition) &&
		!d.Rewritten.Covers(e.Time)
}

// SupervisorEvents implements andon.Log: GSI2, a range of each state.
func (s *Store) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	ctx = s.forAnswer(ctx)
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Event) bool) error {
		if err := ddb.ByIndex(ctx, "the entries of a supervisor"); err != nil {
			return err
		}
		seen, err := s.seenStates(ctx, t.Key)
		if err != nil {
			return err
		}
		all := inStates(seen, q, func(state andon.State) []ddb.Query {
			ask := ddb.Query{
				Table: items.TableLog, Index: items.IndexSupervisor,
				Key: ddb.Keys{Hash: items.AttrEscalated, Sort: items.AttrStateDate},
			}
			return items.IndexQueries(t, items.OfSupervisor, string(supervisor),
				items.InState(ask, state, q.Rest()))
		})
		found := items.Found(ctx, s.db, t, q, all, items.ReadEscalated)
		theirs := func(e *andon.Event) bool { return e.EscalatedTo == supervisor }
		return s.completing(t).answer(ctx, q.Limit, found, true, theirs, yield)
	})
}
