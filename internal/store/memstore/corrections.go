package memstore

import (
	"context"

	"github.com/andonhq/andon"
)

// Withdraw keeps the record that an entry was wrong.
func (s *Store) Withdraw(
	ctx context.Context, id andon.TenantID, w andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	err = s.write(ctx, id, andon.ByWithdrawal, func(t *tenant) error {
		d, e, err := t.entry(w.Device, w.Time, w.State)
		if err != nil {
			return err
		}
		if e.Withdrawn == nil {
			w.Device, w.State = e.Device, e.State
			w.By, w.Note = clone(w.By), clone(w.Note)
			e.Withdrawn, d.withdrawn, added = &w, true, true
			d.changed()
		}
		kept = *e.Withdrawn
		return nil
	})
	return kept, added, err
}

// Purge forgets a device.
func (s *Store) Purge(ctx context.Context, id andon.TenantID, device andon.DeviceID) error {
	return s.write(ctx, id, andon.ByPurge, func(t *tenant) error {
		for _, d := range t.known(device) {
			d.changed()
			delete(t.devices, device)
			t.feed.forget(device)
			if len(d.entries)+len(d.readings)+len(d.assignments) > 0 {
				return nil
			}
		}
		return andon.Errorf(andon.NotFound, "nothing is kept of device %q", device)
	})
}
