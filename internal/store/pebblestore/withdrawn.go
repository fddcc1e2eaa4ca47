package pebblestore

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// withdrawal returns the record of an entry that was withdrawn; nil while that is not durable.
func withdrawal(
	r pebble.Reader, t *tenant, device andon.DeviceID, e andon.EntryRef,
) (*andon.Withdrawal, error) {
	value, err := engine.Get(r, layout.WithdrawalKey(t.number, device, e))
	if err != nil || value == nil {
		return nil, err
	}
	w := &andon.Withdrawal{Device: device, Time: e.Time, State: e.State}
	return w, layout.ReadWithdrawal(w, value)
}

func (s *Store) loadWithdrawals(t *tenant) error {
	lists := map[andon.DeviceID]entries.Withdrawn{}
	prefix := layout.NewKey(layout.TableWithdrawal, t.number)
	for it, err := range engine.Rows(context.Background(), s.db, prefix) {
		if err != nil {
			return err
		}
		device, e, err := layout.SplitWithdrawal(it.Key()[len(prefix):])
		if err != nil {
			return err
		}
		lists[device] = append(lists[device], e) // they are stored in this order
	}
	for device, l := range lists {
		t.withdrawn.Set(device, l)
	}
	return nil
}
