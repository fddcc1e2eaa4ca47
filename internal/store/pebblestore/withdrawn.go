package pebblestore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// withdrawals knows which entries of a tenant were withdrawn, by device. There are few: people make
// them. So each reader of the log asks here, and an entry's row stays as it was sent. It is
// changed under Store.order; a list, once made, is not changed.
type withdrawals struct {
	byDevice sync.Map
	some     atomic.Bool // there may be some: most tenants have none, and each write asks
}

// withdrawnList is entries of a device that were withdrawn, in their order. It does not change.
type withdrawnList []andon.EntryRef

func (l withdrawnList) find(e andon.EntryRef) (int, bool) {
	return slices.BinarySearchFunc(l, e, func(a, b andon.EntryRef) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.State, b.State))
	})
}

func (l withdrawnList) contains(e andon.EntryRef) bool {
	_, ok := l.find(e)
	return ok
}

// list returns the entries of a device that were withdrawn.
func (w *withdrawals) list(device andon.DeviceID) withdrawnList {
	if !w.some.Load() {
		return nil
	}
	list, ok := w.byDevice.Load(device)
	if !ok {
		return nil
	}
	return list.(withdrawnList)
}

func (w *withdrawals) contain(device andon.DeviceID, at andon.Time, state andon.State) bool {
	return w.list(device).contains(andon.EntryRef{Time: at, State: state})
}

// add adds an entry of a device.
func (w *withdrawals) add(device andon.DeviceID, e andon.EntryRef) {
	l := w.list(device)
	if i, there := l.find(e); !there {
		w.some.Store(true)
		w.byDevice.Store(device, slices.Insert(slices.Clone(l), i, e))
	}
}

// withdrawal returns the record of an entry that was withdrawn; nil while that is not durable.
func withdrawal(
	r pebble.Reader, t *tenant, device andon.DeviceID, e andon.EntryRef,
) (*andon.Withdrawal, error) {
	value, closer, err := r.Get(layout.WithdrawalKey(t.number, device, e))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read withdrawal: %w", err)
	}
	defer closer.Close()
	w := &andon.Withdrawal{Device: device, Time: e.Time, State: e.State}
	return w, layout.ReadWithdrawal(w, value)
}

// loadWithdrawals reads which entries of a tenant were withdrawn.
func (s *Store) loadWithdrawals(t *tenant) error {
	lists := map[andon.DeviceID]withdrawnList{}
	for k := range s.rows(layout.NewKey(layout.TableWithdrawal, t.number)) {
		device, e, err := layout.SplitWithdrawal(k)
		if err != nil {
			return err
		}
		lists[device] = append(lists[device], e) // they stand in this order
	}
	for device, l := range lists {
		t.withdrawn.some.Store(true)
		t.withdrawn.byDevice.Store(device, l)
	}
	return nil
}
