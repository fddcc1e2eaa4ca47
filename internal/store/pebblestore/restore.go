package pebblestore

import (
	"context"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
)

// Restore implements andon.Restorer: one atomic batch.
func (s *Store) Restore(ctx context.Context, id andon.TenantID, h andon.History) error {
	t, err := s.writable(ctx, id)
	if err != nil {
		return err
	}
	if h.Escalations, err = s.withEntry(ctx, id, t, h.Escalations); err != nil {
		return err
	}
	r := restoring{counts: map[andon.Retirement]bool{}}
	if r.devices, r.of = h.ByDevice(); len(r.devices) == 0 {
		return nil
	}
	bytes := 128*len(r.devices) + 256
	return s.change(ctx, t, andon.ByRestore, r.devices, bytes, func(w *writing) {
		r.writing = w
		w.fold, w.rows = r.device, r.write
	})
}

type restoring struct {
	*writing
	devices []andon.DeviceID
	of      map[andon.DeviceID]*andon.History
	counts  map[andon.Retirement]bool
}

// withEntry returns the records whose entry is there, or is shown by its device.
func (s *Store) withEntry(
	ctx context.Context, id andon.TenantID, t *tenant, all []andon.Escalation,
) (there []andon.Escalation, err error) {
	for _, e := range all {
		_, _, err := s.escalation(ctx, t, &e)
		if andon.KindOf(err) == andon.NotFound {
			var d andon.Device
			d, err = s.Device(ctx, id, e.Device)
			if err == nil && !d.Shows(andon.EntryRef{Time: e.Time, State: e.State}) {
				continue
			}
		}
		switch {
		case err == nil:
			there = append(there, e)
		case andon.KindOf(err) != andon.NotFound:
			return nil, err
		}
	}
	return there, nil
}

func (r *restoring) device(i int, d *current.Device) error {
	h := r.of[r.devices[i]]
	for _, a := range h.Assignments {
		d.RestoreAssignment(retain(a.Operator, d.Assignee), a.From)
	}
	for _, e := range h.Escalations {
		if r.tenant.withdrawn.Contain(e.Device, e.Time, e.State) {
			continue
		}
		err := d.Escalate(current.Escalation{
			Entry: e.Time, State: andon.State(strings.Clone(string(e.State))),
			At: e.At, To: retain(e.To, ""),
		}, r.states, &r.past)
		if err != nil {
			return err
		}
	}
	for _, x := range h.Retirements {
		r.counts[x] = d.RestoreRetirement(x.At)
	}
	return nil
}

func (r *restoring) write() {
	for _, id := range r.devices {
		h := r.of[id]
		r.assignments(h.Assignments)
		for i := range h.Escalations {
			r.setEscalation(&h.Escalations[i])
		}
		for _, x := range h.Retirements {
			if r.counts[x] {
				r.retirement(id, x.At)
			}
		}
	}
}
