package cassandrastore

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
)

// shownEvents returns the events of entries, with the ids of their devices. It reports the newest
// escalation of each to a caller that collects them.
func shownEvents(
	ctx context.Context, all iter.Seq2[andon.Entry, error],
) iter.Seq2[andon.Event, error] {
	return seq.Map(all, func(e andon.Entry) andon.Event {
		note(ctx, &e)
		return e.Event
	})
}

func note(ctx context.Context, e *andon.Entry) {
	*e = rows.WithID(*e)
	if e.EscalatedTo != "" {
		andon.NoteEscalation(ctx, e.Escalations[0])
	}
}

// Entry implements andon.Log.
func (s *Store) Entry(
	ctx context.Context, id andon.TenantID,
	device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	ctx, end := s.within(ctx)
	defer end()
	t, err := s.tenant(ctx, id)
	if err != nil {
		return andon.Entry{}, err
	}
	e, err := s.rows.Entry(ctx, t, t.Purged.Key(device), at, state)
	if err == nil && e == nil {
		err = andon.NoEntry(device, at, state)
	}
	if err != nil {
		return andon.Entry{}, err
	}
	return rows.WithID(*e), nil
}

// DeviceEvents implements andon.Log.
func (s *Store) DeviceEvents(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return listIn(ctx, s, id, func(t *rows.Tenant) iter.Seq2[andon.Event, error] {
		key := t.Purged.Key(device)
		all := s.rows.Operators(t, key, q.Order).Every
		return shownEvents(ctx, s.rows.Walk(ctx, t, key, t.Query(q), all))
	})
}
