package cassandrastore

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/andonhq/andon"
)

// devices are what appends last saw of the devices that they wrote to. A device's slot is also the
// lock that lets the appends of this process to one device come one after the other.
type devices struct {
	parts [64]struct {
		sync.Mutex
		slots map[slotKey]*slot
	}
}

type slotKey struct {
	tenant string
	device andon.DeviceID
}

type slot struct {
	lock chan struct{} // holds one thing while somebody has the slot
	refs int           // who has it or waits for it; guarded by its part

	// The rest belongs to who has the slot.
	view *view
	read time.Time // when the cluster was asked for view
}

// slotsPerPart is how many slots a part keeps beyond those that somebody has.
const slotsPerPart = 4096

func newDevices() *devices {
	d := &devices{}
	for i := range d.parts {
		d.parts[i].slots = map[slotKey]*slot{}
	}
	return d
}

func (d *devices) part(k slotKey) int {
	return spread(hash(k.tenant)*31+hash(string(k.device)), len(d.parts))
}

// take waits for a slot and takes it, until give.
func (d *devices) take(ctx context.Context, k slotKey) (*slot, error) {
	p := &d.parts[d.part(k)]
	p.Lock()
	s := p.slots[k]
	if s == nil {
		s = &slot{lock: make(chan struct{}, 1)}
		own := slotKey{k.tenant, andon.DeviceID(strings.Clone(string(k.device)))}
		p.slots[own] = s
	}
	s.refs++
	p.Unlock()
	select {
	case s.lock <- struct{}{}:
		return s, nil
	case <-ctx.Done():
		d.unref(k, s)
		return nil, failure("wait for the device", ctx.Err())
	}
}

func (d *devices) give(k slotKey, s *slot) {
	<-s.lock
	d.unref(k, s)
}

// unref forgets slots that nobody has once there are too many, in no particular order.
func (d *devices) unref(k slotKey, s *slot) {
	p := &d.parts[d.part(k)]
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

// taken are the slots of one request, in the order of its devices.
type taken struct {
	of    *devices
	keys  []slotKey
	slots []*slot
}

// takeAll takes the slots of devices that stand in order of their ids, each once. Since everybody
// takes them in that order, nobody waits for somebody who waits.
func (d *devices) takeAll(
	ctx context.Context, tenant string, ids []andon.DeviceID,
) (*taken, error) {
	t := &taken{of: d}
	for _, id := range ids {
		k := slotKey{tenant, id}
		s, err := d.take(ctx, k)
		if err != nil {
			t.give()
			return nil, err
		}
		t.keys, t.slots = append(t.keys, k), append(t.slots, s)
	}
	return t, nil
}

func (t *taken) give() {
	for i, s := range t.slots {
		t.of.give(t.keys[i], s)
	}
}

// forget is for when a write failed: nobody knows what of it is there.
func (t *taken) forget() {
	for _, s := range t.slots {
		s.view = nil
	}
}

// views reads the views that are older than age, all of them where it is 0.
func (s *Store) views(ctx context.Context, t *taken, age time.Duration) error {
	var stale []int
	for i, slot := range t.slots {
		if since := s.now().Sub(slot.read); slot.view == nil || since >= age || since < 0 {
			stale = append(stale, i)
		}
	}
	return parallel(ctx, len(stale), func(ctx context.Context, n int) error {
		slot, k := t.slots[stale[n]], t.keys[stale[n]]
		began := s.now()
		v, err := s.look(ctx, k.tenant, k.device, false)
		if err == nil {
			slot.view, slot.read = v, began
		}
		return err
	})
}
