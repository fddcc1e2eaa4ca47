package cassandrastore

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
)

// note reports the newest escalation of an entry to a caller that collects them, and gives the
// entry the id of its device.
func note(ctx context.Context, e *andon.Entry) {
	e.Device = rows.IDOf(e.Device)
	if e.EscalatedTo != "" {
		r := e.Escalations[0]
		r.Device = e.Device
		andon.NoteEscalation(ctx, r)
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
	return listIn(ctx, s, id, func(t *rows.Tenant, yield func(andon.Event) bool) error {
		key := t.Purged.Key(device)
		all := s.rows.Operators(t, key, q.Order).Every
		for e, err := range s.rows.Walk(ctx, t, key, t.Query(q), all) {
			if err != nil {
				return err
			}
			if note(ctx, &e); !yield(e.Event) {
				return nil
			}
		}
		return nil
	})
}
