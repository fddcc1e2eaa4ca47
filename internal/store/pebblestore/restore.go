package pebblestore

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/seq"
)

// EscalatedEntries is of andon.Log.
func (s *Store) EscalatedEntries(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Entry) bool) error {
		if q.Span.Empty() {
			return nil
		}
		r := newEventReader(ctx, s, t)
		defer r.close()
		keys, err := r.escalated(device, &q)
		if err != nil {
			return err
		}
		yield = seq.UpTo(q.Limit, yield)
		for _, k := range keys {
			e, err := r.whole(device, k.Time, k.State)
			if andon.KindOf(err) == andon.NotFound {
				continue // given back
			}
			if err != nil || !yield(e) {
				return err
			}
		}
		return nil
	})
}

// escalated returns where the entries of a device stand that were ever escalated and the query
// admits, in its order.
func (r *eventReader) escalated(
	device andon.DeviceID, q *andon.EventQuery,
) (keys []andon.EventKey, err error) {
	for e, err := range r.escalatedIn(device, q.Rest()) {
		if err != nil {
			return nil, err
		}
		k := andon.EventKey{
			Time: e.Time, Severity: r.states.Severity(e.State), State: e.State, Device: device,
		}
		if q.Admits(k) && !r.tenant.withdrawn.has(device, e.Time, e.State) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, compareKeys(q.Order))
	return keys, nil
}

// Restore is of andon.Restorer: one atomic batch.
func (s *Store) Restore(ctx context.Context, id andon.TenantID, h andon.History) error {
	t, err := s.writable(ctx, id)
	if err != nil {
		return err
	}
	r := restoring{of: map[andon.DeviceID]*andon.History{}, counts: map[andon.Retirement]bool{}}
	if err := r.gather(ctx, s, t, &h); err != nil || len(r.devices) == 0 {
		return err
	}
	r.writing, err = s.newWrite(ctx, t, 0, len(r.devices), 128*len(r.devices)+256)
	if err != nil {
		return err
	}
	r.kind = andon.ByRestore
	defer r.close()
	r.fold, r.rows = r.device, r.write
	r.add(r.devices)
	if err = r.foldAll(); err == nil {
		err = s.commit(r.writing)
	}
	return err
}

// restoring writes a history, device by device.
type restoring struct {
	*writing
	devices []andon.DeviceID
	of      map[andon.DeviceID]*andon.History
	counts  map[andon.Retirement]bool
}

// gather sorts a history by device, without the records whose entry is not there.
func (r *restoring) gather(ctx context.Context, s *Store, t *tenant, h *andon.History) error {
	of := func(id andon.DeviceID) *andon.History {
		if r.of[id] == nil {
			r.devices, r.of[id] = append(r.devices, id), &andon.History{}
		}
		return r.of[id]
	}
	for _, a := range h.Assignments {
		d := of(a.Device)
		d.Assignments = append(d.Assignments, a)
	}
	for _, e := range h.Escalations {
		_, _, err := s.escalation(ctx, t, &e)
		if err != nil && andon.KindOf(err) == andon.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		d := of(e.Device)
		d.Escalations = append(d.Escalations, e)
	}
	for _, x := range h.Retirements {
		d := of(x.Device)
		d.Retirements = append(d.Retirements, x)
	}
	return nil
}

// device folds what was restored of one device.
func (r *restoring) device(i int, d *current.Device) error {
	h := r.of[r.devices[i]]
	for _, a := range h.Assignments {
		d.RestoreAssignment(retain(a.Operator, d.Assignee), a.From)
	}
	for _, e := range h.Escalations {
		if r.tenant.withdrawn.has(e.Device, e.Time, e.State) {
			continue
		}
		err := d.Escalate(current.Escalation{
			Entry: e.Time, State: andon.State(strings.Clone(string(e.State))),
			At: e.At, To: retain(e.To, ""),
		}, r.states, r.past)
		if err != nil {
			return err
		}
	}
	for _, x := range h.Retirements {
		r.counts[x] = d.RestoreRetirement(x.At)
	}
	return nil
}

// write puts the rows into the batch.
func (r *restoring) write() error {
	for _, id := range r.devices {
		h := r.of[id]
		if err := r.assignments(h.Assignments); err != nil {
			return err
		}
		for i := range h.Escalations {
			if err := setEscalation(r.batch, r.tenant.number, &h.Escalations[i]); err != nil {
				return err
			}
		}
		for _, x := range h.Retirements {
			if !r.counts[x] {
				continue
			}
			k := newKey(tableRetirement, r.tenant.number).text(string(id)).time(x.At)
			if err := r.batch.Set(k, nil, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
