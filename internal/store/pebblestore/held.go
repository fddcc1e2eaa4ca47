package pebblestore

import (
	"sync"
	"sync/atomic"

	"github.com/andonhq/andon"
)

// held are the devices of a tenant that one write keeps others from changing, while it computes
// them again from a long history. Otherwise those would overtake it again and again, or it would
// have to do so within the ordered section, where all writes wait. A write that waits holds
// nothing, so no two wait for each other.
type held struct {
	some    atomic.Int32 // how many there are: mostly none, and each write checks
	mu      sync.Mutex
	devices map[andon.DeviceID]chan struct{} // closed when they are released
}

// by returns what is closed once a device of a write is released that another one holds; nil
// where there is none.
func (h *held) by(w *writing) <-chan struct{} {
	if h.some.Load() == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range w.changes.Len() {
		if released := h.devices[w.changes.Device(i).ID]; released != nil && released != w.holds {
			return released
		}
	}
	return nil
}

// hold keeps other writes from changing the devices of this one, until it releases them. It belongs
// to the ordered section, and comes after by.
func (w *writing) hold() {
	h := &w.tenant.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.devices == nil {
		h.devices = map[andon.DeviceID]chan struct{}{}
	}
	w.holds = make(chan struct{})
	for i := range w.changes.Len() {
		h.devices[w.changes.Device(i).ID] = w.holds
	}
	h.some.Add(1)
}

// release releases the devices that a write holds, if any.
func (w *writing) release() {
	if w.holds == nil {
		return
	}
	h := &w.tenant.held
	h.mu.Lock()
	for id, released := range h.devices {
		if released == w.holds {
			delete(h.devices, id)
		}
	}
	h.some.Add(-1)
	h.mu.Unlock()
	close(w.holds)
	w.holds = nil
}

// again folds what was overtaken, once no other write holds a device of this one.
func (w *writing) again() error {
	if err := w.await(); err != nil {
		return err
	}
	return w.refold(w.overtaken)
}

func (w *writing) await() error {
	if w.waits == nil {
		return nil
	}
	select {
	case <-w.waits:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}
