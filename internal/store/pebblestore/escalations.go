package pebblestore

import (
	"bytes"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

func (r *eventReader) openEscalations() (err error) {
	if r.escalations == nil {
		k := layout.NewKey(layout.TableEscalation, r.tenant.number)
		r.escalations, err = engine.NewIterator(r.ctx, r.store.db, k, k.End())
	}
	return err
}

// escalate enters the newest escalation into each of the hits of a device, which are in the order
// of a list.
func (r *eventReader) escalate(device andon.DeviceID, hits []hit) error {
	if len(hits) == 0 {
		return nil
	}
	newest, oldest := hits[0].key.Time, hits[len(hits)-1].key.Time
	within := andon.Span{From: min(newest, oldest), To: max(newest, oldest)}
	for e, err := range r.escalatedIn(device, within) {
		if err != nil {
			return err
		}
		for i := range hits {
			if h := &hits[i]; h.key.Time == e.Time && h.key.State == e.State {
				h.event.EscalatedTo, h.escalated = e.To, e.At
			}
		}
	}
	return nil
}

// escalatedIn returns the newest escalation of each entry of a device in a span, newest first. It
// passes over the others, and remembers where there are none, so that devices without any cost one
// seek together.
func (r *eventReader) escalatedIn(
	device andon.DeviceID, within andon.Span,
) iter.Seq2[andon.Escalation, error] {
	return func(yield func(andon.Escalation, error) bool) {
		if err := r.openEscalations(); err != nil {
			yield(andon.Escalation{}, err)
			return
		}
		r.of = r.of.Begin(layout.TableEscalation, r.tenant.number).Text(string(device))
		r.behind = append(r.behind[:0], r.of...).InvertedTime(max(within.From, 1) - 1)
		r.at = append(r.at[:0], r.of...).InvertedTime(andon.Earlier(within.To, andon.MaxTime))
		for at := r.at; !r.none.Holds(engine.Span{From: at, To: r.behind}); {
			found := r.escalations.Forward(at)
			r.none.From = append(r.none.From[:0], at...)
			if !found {
				r.none.To = layout.NewKey(layout.TableEscalation, r.tenant.number).End()
				break
			}
			r.none.To = append(r.none.To[:0], r.escalations.Key()...)
			if !bytes.HasPrefix(r.none.To, r.of) {
				return
			}
			e, ok := layout.SplitEscalation(r.none.To[len(r.of):])
			if !ok {
				yield(e, layout.ErrDamaged)
				return
			}
			if e.Time < within.From {
				return
			}
			if e.Device = device; !yield(e, nil) {
				return
			}
			at = layout.NewKey(layout.TableEscalation, r.tenant.number).
				Entry(device, e.Time, e.State).End()
		}
		if err := r.escalations.Error(); err != nil {
			yield(andon.Escalation{}, err)
		}
	}
}
