package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/varint"
)

// withdrawals knows which entries of a tenant were withdrawn, by device. There are few: people make
// them. So each reader of the log asks here, and an entry's row stays as it was sent. It is
// changed under Store.order; a list, once made, is not changed.
type withdrawals struct {
	byDevice sync.Map
	some     atomic.Bool // there may be some: most tenants have none, and each write asks
}

// of returns the entries of a device that were withdrawn.
func (w *withdrawals) of(device andon.DeviceID) []andon.EntryRef {
	if !w.some.Load() {
		return nil
	}
	list, ok := w.byDevice.Load(device)
	if !ok {
		return nil
	}
	return list.([]andon.EntryRef)
}

func (w *withdrawals) has(device andon.DeviceID, at andon.Time, state andon.State) bool {
	return slices.Contains(w.of(device), andon.EntryRef{Time: at, State: state})
}

// set replaces the list of a device.
func (w *withdrawals) set(device andon.DeviceID, list []andon.EntryRef) {
	if len(list) == 0 {
		w.byDevice.Delete(device)
		return
	}
	w.some.Store(true)
	w.byDevice.Store(device, list)
}

func withdrawalKey(tenant uint32, device andon.DeviceID, e andon.EntryRef) key {
	return newKey(tableWithdrawal, tenant).text(string(device)).time(e.Time).text(string(e.State))
}

func appendWithdrawal(b []byte, w *andon.Withdrawal) []byte {
	b = varint.AppendText(binary.AppendUvarint(b, uint64(w.At)), w.By)
	return append(b, w.Note...)
}

func readWithdrawal(is *andon.Withdrawal, value []byte) error {
	w := wireOf(value)
	is.At, is.By = w.time(), andon.PersonID(w.text())
	is.Note = string(w.Rest)
	return w.err()
}

// withdrawal returns the record of an entry that was withdrawn; nil while that is not durable.
func withdrawal(
	r pebble.Reader, t *tenant, device andon.DeviceID, e andon.EntryRef,
) (*andon.Withdrawal, error) {
	value, closer, err := r.Get(withdrawalKey(t.number, device, e))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read withdrawal: %w", err)
	}
	defer closer.Close()
	w := &andon.Withdrawal{Device: device, Time: e.Time, State: e.State}
	return w, readWithdrawal(w, value)
}

// loadWithdrawals reads which entries of a tenant were withdrawn.
func (s *Store) loadWithdrawals(t *tenant) error {
	for k := range s.rows(newKey(tableWithdrawal, t.number)) {
		device, e, err := splitWithdrawal(k)
		if err != nil {
			return err
		}
		t.withdrawn.set(device, append(slices.Clip(t.withdrawn.of(device)), e))
	}
	return nil
}

func splitWithdrawal(rest []byte) (device andon.DeviceID, e andon.EntryRef, err error) {
	w := wireOf(rest)
	device = andon.DeviceID(w.name())
	e.Time, e.State = w.instant(), andon.State(w.name())
	return device, e, w.err()
}
