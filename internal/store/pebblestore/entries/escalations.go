package entries

import (
	"bytes"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

func (r *Reader) openEscalations() (err error) {
	if r.escalations == nil {
		k := layout.NewKey(layout.TableEscalation, r.tenant.Number)
		r.escalations, err = engine.NewIterator(r.ctx, r.log.DB, k, k.End())
	}
	return err
}

func (r *Reader) closeEscalations() {
	if r.escalations != nil {
		r.escalations.Release()
		r.escalations = nil
	}
}

// readNote reads who made the escalation that the iterator is at, and the note.
func (r *Reader) readNote(e *andon.Escalation) error {
	value, err := r.escalations.ValueAndErr()
	if err == nil {
		err = layout.ReadEscalation(e, value)
	}
	return err
}

// note notes the escalation that the iterator is at for a caller that collects them.
func (r *Reader) note(e *andon.Escalation) error {
	if !andon.CollectsEscalations(r.ctx) {
		return nil
	}
	err := r.readNote(e)
	if err == nil {
		andon.NoteEscalation(r.ctx, *e)
	}
	return err
}

// Entry returns one entry, withdrawn or not, with its escalations; NotFound where it is not there.
func (r *Reader) Entry(
	device andon.DeviceID, at andon.Time, state andon.State,
) (e andon.Entry, err error) {
	if e.Event, err = r.Event(device, at, state); err != nil {
		return e, err
	}
	for escalation, err := range r.Escalations(device, at, state) {
		if err != nil {
			return e, err
		}
		e.Escalations = append(e.Escalations, escalation)
	}
	if len(e.Escalations) > 0 {
		e.EscalatedTo = e.Escalations[0].To
	}
	return e, nil
}

// Escalations returns the escalations of an entry, the newest first.
func (r *Reader) Escalations(
	device andon.DeviceID, at andon.Time, state andon.State,
) iter.Seq2[andon.Escalation, error] {
	return seq.Of(func(yield func(andon.Escalation) bool) error {
		if err := r.openEscalations(); err != nil {
			return err
		}
		it := r.escalations
		k := layout.NewKey(layout.TableEscalation, r.tenant.Number).Entry(device, at, state)
		for ok := it.SeekGE(k); ok && bytes.HasPrefix(it.Key(), k); ok = it.Next() {
			made, to, ok := layout.TakeInvertedTime(it.Key()[len(k):])
			if !ok {
				return layout.ErrDamaged
			}
			e := andon.Escalation{
				Device: device, Time: at, State: state, At: made, To: andon.PersonID(to),
			}
			if err := r.readNote(&e); err != nil {
				return err
			}
			if !yield(e) {
				return nil
			}
		}
		return it.Error()
	})
}

// Escalated returns which entries of a device were ever escalated and the query admits, in its
// order.
func (r *Reader) Escalated(
	device andon.DeviceID, q *andon.EventQuery,
) (keys []andon.EventKey, err error) {
	gone := r.withdrawn.List(device)
	for e, err := range r.NewestEscalations(device, q.Rest()) {
		if err != nil {
			return nil, err
		}
		k := andon.EventKey{
			Time: e.Time, Severity: r.states.Severity(e.State), State: e.State, Device: device,
		}
		if q.Admits(k) && !gone.Contains(andon.EntryRef{Time: e.Time, State: e.State}) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b andon.EventKey) int {
		if q.Order == andon.Desc {
			a, b = b, a
		}
		return a.Compare(b)
	})
	return keys, nil
}

// escalate enters the newest escalation into each of the hits of a device, which are in the order
// of a list.
func (r *Reader) escalate(device andon.DeviceID, hits []Hit) error {
	if len(hits) == 0 {
		return nil
	}
	newest, oldest := hits[0].Event.Time, hits[len(hits)-1].Event.Time
	within := andon.Span{From: min(newest, oldest), To: max(newest, oldest)}
	for e, err := range r.NewestEscalations(device, within) {
		if err != nil {
			return err
		}
		for i := range hits {
			if h := &hits[i]; h.Event.Time == e.Time && h.Event.State == e.State {
				h.Event.EscalatedTo, h.EscalatedAt = e.To, e.At
				if err := r.note(&e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// NewestEscalations returns the newest escalation of each entry of a device in a span, the newest
// entry first. It passes over the others.
func (r *Reader) NewestEscalations(
	device andon.DeviceID, within andon.Span,
) iter.Seq2[andon.Escalation, error] {
	return func(yield func(andon.Escalation, error) bool) {
		if err := r.openEscalations(); err != nil {
			yield(andon.Escalation{}, err)
			return
		}
		r.of = r.of.Begin(layout.TableEscalation, r.tenant.Number).Text(string(device))
		r.end = append(r.end[:0], r.of...).InvertedTime(max(within.From, 1) - 1)
		r.at = append(r.at[:0], r.of...).InvertedTime(andon.Earlier(within.To, andon.MaxTime))
		for at := r.at; r.escalations.SeekWithin(at, r.end); {
			e, ok := layout.SplitEscalation(r.escalations.Key()[len(r.of):])
			if !ok {
				yield(e, layout.ErrDamaged)
				return
			}
			if e.Device = device; !yield(e, nil) {
				return
			}
			at = layout.NewKey(layout.TableEscalation, r.tenant.Number).
				Entry(device, e.Time, e.State).End()
		}
		if err := r.escalations.Error(); err != nil {
			yield(andon.Escalation{}, err)
		}
	}
}
