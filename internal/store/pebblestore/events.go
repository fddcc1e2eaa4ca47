package pebblestore

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
)

func listIn[T any](
	ctx context.Context, s *Store, id andon.TenantID,
	walk func(t *tenant, yield func(T) bool) error,
) iter.Seq2[T, error] {
	return seq.From(func() (*tenant, error) { return s.tenant(ctx, id) }, walk)
}

// reader returns a reader of the entries of a tenant, but for those that were withdrawn. The caller
// closes it.
func (s *Store) reader(ctx context.Context, t *tenant) *entries.Reader {
	return s.log.NewReader(ctx, s.source(t))
}

func (s *Store) source(t *tenant) entries.Source {
	return entries.Source{
		Tenant: t.entries, Fleet: t.fleet, Shown: s.mu.RLocker(), States: t.states(),
		Withdrawn: &t.withdrawn,
	}
}

func (s *Store) hits(
	ctx context.Context, id andon.TenantID, q *andon.EventQuery,
	list func(r *entries.Reader) iter.Seq2[entries.Hit, error],
) iter.Seq2[andon.Event, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Event) bool) error {
		if q.Span.Empty() {
			return nil
		}
		r := s.reader(ctx, t)
		defer r.Close()
		for h, err := range list(r) {
			if err != nil || !yield(h.Event) {
				return err
			}
		}
		return nil
	})
}

// DeviceEvents implements andon.Log.
func (s *Store) DeviceEvents(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return s.hits(ctx, id, &q, func(r *entries.Reader) iter.Seq2[entries.Hit, error] {
		return r.Device(device, &q)
	})
}

// TenantEvents implements andon.Log.
func (s *Store) TenantEvents(
	ctx context.Context, id andon.TenantID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return s.hits(ctx, id, &q, func(r *entries.Reader) iter.Seq2[entries.Hit, error] {
		return r.Tenant(q)
	})
}

// OperatorEvents implements andon.Log.
func (s *Store) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return s.hits(ctx, id, &q, func(r *entries.Reader) iter.Seq2[entries.Hit, error] {
		return r.Operator(operator, q)
	})
}

// SupervisorEvents implements andon.Log.
func (s *Store) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Event) bool) error {
		if q.Span.Empty() {
			return nil
		}
		r := s.reader(ctx, t)
		defer r.Close()
		return seq.Yield(r.Supervisor(supervisor, q), yield)
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
	r := s.reader(ctx, t)
	defer r.Close()
	return s.entry(r, t, device, at, state)
}

func (s *Store) entry(
	r *entries.Reader, t *tenant, device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	e, err := r.Entry(device, at, state)
	if err == nil && t.withdrawn.Contain(device, at, state) {
		e.Withdrawn, err = withdrawal(s.db, t, device, andon.EntryRef{Time: at, State: state})
	}
	return e, err
}

// EscalatedEntries implements andon.Log.
func (s *Store) EscalatedEntries(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Entry) bool) error {
		if q.Span.Empty() {
			return nil
		}
		r := s.reader(ctx, t)
		defer r.Close()
		keys, err := r.Escalated(device, &q)
		if err != nil {
			return err
		}
		yield = seq.UpTo(q.Limit, yield)
		for _, k := range keys {
			e, err := s.entry(r, t, device, k.Time, k.State)
			if andon.KindOf(err) == andon.NotFound {
				continue // it has expired
			}
			if err != nil || !yield(e) {
				return err
			}
		}
		return nil
	})
}
