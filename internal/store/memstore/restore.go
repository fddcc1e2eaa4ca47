package memstore

import (
	"context"

	"github.com/andonhq/andon"
)

// Restore keeps what people did elsewhere, with its times.
func (s *Store) Restore(ctx context.Context, id andon.TenantID, h andon.History) error {
	return s.write(ctx, id, andon.ByRestore, func(t *tenant) error {
		for _, a := range h.Assignments {
			t.device(a.Device).keepAssignment(a.From, a.Operator)
		}
		for _, r := range h.Escalations {
			if d, e, err := t.entry(r.Device, r.Time, r.State); err == nil {
				d.record(e, cloneEscalation(e, r))
			}
		}
		for _, r := range h.Retirements {
			d := t.device(r.Device)
			if d.newestTime() <= r.At && d.retiredAt() < r.At {
				d.retired = append(d.retired, r.At)
				d.changed()
			}
		}
		return nil
	})
}
