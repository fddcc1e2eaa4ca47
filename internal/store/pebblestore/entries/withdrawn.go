package entries

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/andonhq/andon"
)

// Withdrawals knows which entries of a tenant were withdrawn, by device. There are few: people make
// them. So each reader asks here, and an entry stays stored as it was sent. One goroutine at a time
// changes it; a list, once made, is not changed.
type Withdrawals struct {
	byDevice sync.Map
	some     atomic.Bool // there may be some: most tenants have none, and each write asks
}

// Withdrawn are entries of a device that were withdrawn, in their order. The list does not change.
type Withdrawn []andon.EntryRef

func (l Withdrawn) find(e andon.EntryRef) (int, bool) {
	return slices.BinarySearchFunc(l, e, func(a, b andon.EntryRef) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.State, b.State))
	})
}

// Contains reports whether an entry was withdrawn.
func (l Withdrawn) Contains(e andon.EntryRef) bool {
	_, ok := l.find(e)
	return ok
}

// List returns the entries of a device that were withdrawn.
func (w *Withdrawals) List(device andon.DeviceID) Withdrawn {
	if w == nil || !w.some.Load() {
		return nil
	}
	list, ok := w.byDevice.Load(device)
	if !ok {
		return nil
	}
	return list.(Withdrawn)
}

// Contain reports whether an entry of a device was withdrawn.
func (w *Withdrawals) Contain(device andon.DeviceID, at andon.Time, state andon.State) bool {
	return w.List(device).Contains(andon.EntryRef{Time: at, State: state})
}

// Add adds an entry of a device.
func (w *Withdrawals) Add(device andon.DeviceID, e andon.EntryRef) {
	l := w.List(device)
	if i, there := l.find(e); !there {
		w.Set(device, slices.Insert(slices.Clone(l), i, e))
	}
}

// Set sets the entries of a device, which are in their order.
func (w *Withdrawals) Set(device andon.DeviceID, l Withdrawn) {
	w.some.Store(true)
	w.byDevice.Store(device, l)
}

// Forget drops a device.
func (w *Withdrawals) Forget(device andon.DeviceID) { w.byDevice.Delete(device) }
