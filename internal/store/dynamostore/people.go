package dynamostore

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
)

// OperatorEvents implements andon.Log: GSI1 by time.
func (s *Store) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	ctx = s.forAnswer(ctx)
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Event) bool) error {
		if err := ddb.ByIndex(ctx, "the entries of an operator"); err != nil || q.Span.Empty() {
			return err
		}
		span := q.Rest()
		ask := ddb.Query{
			Table: items.TableLog, Index: items.IndexOperator,
			Key:       ddb.Keys{Hash: items.AttrOperator, Sort: items.AttrDate},
			Partition: items.Join(t.Key, string(operator)), From: items.TimeText(span.From),
			Order: q.Order,
			Page:  items.PageOf(q.Limit, 1),
		}
		if span.To != 0 {
			ask.To = items.TimeText(min(span.To, andon.MaxTime))
		}
		found := items.Merged(ctx, []*shared.Rows[event]{ddb.Rows(s.db, ask, items.ReadEvent)}, t,
			q)
		theirs := func(e *andon.Event) bool { return e.Operator == operator }
		return s.completing(t).answer(ctx, q.Limit, found, true, theirs, yield)
	})
}

// recheck reads entries as they are now, in the order in which they are given: an index lags, and a
// device with several shards may have an earlier delivery of one.
func (c *completing) recheck(ctx context.Context, piece []event) ([]event, error) {
	if err := c.learn(ctx, piece); err != nil {
		return nil, err
	}
	s, t := c.store, c.tenant
	var places []ddb.Item
	for i := range piece {
		e := &piece[i]
		places = append(places, s.places(t, c.devices[e.Device], e.Ref())...)
	}
	found, err := s.eventsAt(ctx, t, places)
	if err != nil {
		return nil, err
	}
	now := map[andon.EventKey]event{}
	for _, e := range found {
		now[andon.EventKey{Device: e.Device, Time: e.Time, State: e.State}] = e
	}
	kept := make([]event, 0, len(piece))
	for i := range piece {
		e := &piece[i]
		if is, ok := now[andon.EventKey{Device: e.Device, Time: e.Time, State: e.State}]; ok {
			kept = append(kept, is)
		}
	}
	return kept, nil
}

// SupervisorEvents implements andon.Log: GSI2, a range of each state.
func (s *Store) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	ctx = s.forAnswer(ctx)
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Event) bool) error {
		if err := ddb.ByIndex(ctx, "the entries of a supervisor"); err != nil || q.Span.Empty() {
			return err
		}
		seen, err := s.seenStates(ctx, t.Key)
		if err != nil {
			return err
		}
		found := s.escalatedIn(ctx, t, seen, q, func(state andon.State) ddb.Query {
			ask := ddb.Query{
				Table: items.TableLog, Index: items.IndexSupervisor,
				Key:       ddb.Keys{Hash: items.AttrEscalated, Sort: items.AttrStateDate},
				Partition: items.Join(t.Key, string(supervisor)),
			}
			return items.InState(ask, state, q.Rest())
		})
		theirs := func(e *andon.Event) bool { return e.EscalatedTo == supervisor }
		return s.completing(t).answer(ctx, q.Limit, found, true, theirs, yield)
	})
}

// escalatedIn finds escalated entries by the items of their newest escalations, only their
// identities.
func (s *Store) escalatedIn(
	ctx context.Context, t *tenant, states []andon.State, q andon.EventQuery,
	ask func(andon.State) ddb.Query,
) iter.Seq2[event, error] {
	var all []*shared.Rows[event]
	for _, state := range states {
		if !q.States.Match(state) {
			continue
		}
		is := ask(state)
		is.Order, is.Page = q.Order, items.PageOf(q.Limit, len(states))
		all = append(all, ddb.Rows(s.db, is, func(i ddb.Item) (event, bool, error) {
			r, _, err := items.ReadEscalation(i)
			e := andon.Event{Device: r.Device, Time: r.Time, State: r.State}
			return event{Event: e}, true, err
		}))
	}
	return items.Merged(ctx, all, t, q)
}
