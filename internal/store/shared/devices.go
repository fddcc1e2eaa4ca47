package shared

import (
	"context"
	"strings"
	"sync"

	"github.com/andonhq/andon"
)

// Devices caches what a process last saw of the devices that it wrote to: a View of each. A
// device's slot is also the lock by which the writes of this process to one device take turns.
type Devices[View any] struct{ parts [64]part[View] }

type part[View any] struct {
	sync.Mutex
	slots map[DeviceKey]*Slot[View]
}

// DeviceKey is a device of any tenant.
type DeviceKey struct {
	Tenant string // as it is in keys
	Device andon.DeviceID
}

// own returns a copy that shares no memory with a request.
func (k DeviceKey) own() DeviceKey {
	return DeviceKey{strings.Clone(k.Tenant), andon.DeviceID(strings.Clone(string(k.Device)))}
}

// Slot is the place of one device.
type Slot[View any] struct {
	// Key is a copy. Whatever is cached of the device takes its names from here: those of a request
	// are a part of its body, which does not belong to the store.
	Key DeviceKey

	lock chan struct{} // full while the slot is taken
	refs int           // how many have it or wait for it; guarded by its part

	// The rest is guarded by lock.

	View *View // nil: not known
}

// slotsPerPart is how many slots a part keeps beyond those that are taken.
const slotsPerPart = 4096

// NewDevices returns an empty cache.
func NewDevices[View any]() *Devices[View] {
	d := &Devices[View]{}
	for i := range d.parts {
		d.parts[i].slots = map[DeviceKey]*Slot[View]{}
	}
	return d
}

func (d *Devices[View]) part(k DeviceKey) *part[View] {
	return &d.parts[Spread(Hash(k.Tenant)*31+Hash(string(k.Device)), len(d.parts))]
}

// slot returns the slot of a device. It makes one where there is none: always, or only while the
// part has free slots. It counts as waited for.
func (p *part[View]) slot(k DeviceKey, always bool) *Slot[View] {
	p.Lock()
	defer p.Unlock()
	s := p.slots[k]
	if s == nil && !always && len(p.slots) >= slotsPerPart {
		return nil
	}
	if s == nil {
		k = k.own()
		s = &Slot[View]{Key: k, lock: make(chan struct{}, 1)}
		p.slots[k] = s
	}
	s.refs++
	return s
}

// take waits for a slot and takes it, until give.
func (d *Devices[View]) take(ctx context.Context, k DeviceKey) (*Slot[View], error) {
	p := d.part(k)
	s := p.slot(k, true)
	select {
	case s.lock <- struct{}{}:
		return s, nil
	case <-ctx.Done():
		p.unref(s)
		return nil, ctx.Err()
	}
}

// Borrow takes a slot if that needs no waiting and no other slot has to go; else it returns nil.
// The function that it returns gives the slot back.
func (d *Devices[View]) Borrow(k DeviceKey) (s *Slot[View], giveBack func()) {
	p := d.part(k)
	if s = p.slot(k, false); s == nil {
		return nil, nil
	}
	select {
	case s.lock <- struct{}{}:
		return s, func() { p.give(s) }
	default:
		p.unref(s)
		return nil, nil
	}
}

func (p *part[View]) give(s *Slot[View]) {
	<-s.lock
	p.unref(s)
}

// unref forgets slots that are free once there are too many, in no particular order.
func (p *part[View]) unref(s *Slot[View]) {
	p.Lock()
	defer p.Unlock()
	s.refs--
	if len(p.slots) <= slotsPerPart {
		return
	}
	for other, idle := range p.slots {
		if idle.refs == 0 {
			delete(p.slots, other)
		}
		if len(p.slots) <= slotsPerPart/2 {
			return
		}
	}
}

// Taken holds the slots of one request, in the order of its devices.
type Taken[View any] struct {
	Slots []*Slot[View]
	of    *Devices[View]
}

// Take waits for the slots of devices of a tenant and takes them, until Give. The devices are given
// in the order of their ids, each once. Since every request takes slots in that order, there is no
// deadlock.
func (d *Devices[View]) Take(
	ctx context.Context, tenant string, ids ...andon.DeviceID,
) (*Taken[View], error) {
	t := &Taken[View]{of: d}
	for _, id := range ids {
		s, err := d.take(ctx, DeviceKey{tenant, id})
		if err != nil {
			t.Give()
			return nil, err
		}
		t.Slots = append(t.Slots, s)
	}
	return t, nil
}

// Give gives the slots back.
func (t *Taken[View]) Give() {
	for _, s := range t.Slots {
		t.of.part(s.Key).give(s)
	}
}

// Forget drops the views, after a write that failed: it is not known what of it was stored.
func (t *Taken[View]) Forget() {
	for _, s := range t.Slots {
		s.View = nil
	}
}
