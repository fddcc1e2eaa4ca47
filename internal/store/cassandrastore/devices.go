package cassandrastore

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// devices are what appends last saw of the devices that they wrote to. A device's slot is also the
// lock that lets the appends of this process to one device come one after the other.
type devices struct{ parts [64]part }

type part struct {
	sync.Mutex
	slots map[slotKey]*slot
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
	// read is when the cluster was asked for view; what this process wrote since is in it.
	read shared.Moment
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

// add makes a slot. The key may be a part of a request.
func (p *part) add(k slotKey) *slot {
	s := &slot{lock: make(chan struct{}, 1)}
	p.slots[slotKey{k.tenant, andon.DeviceID(strings.Clone(string(k.device)))}] = s
	return s
}

// take waits for a slot and takes it, until give.
func (d *devices) take(ctx context.Context, k slotKey) (*slot, error) {
	p := &d.parts[d.part(k)]
	p.Lock()
	s := p.slots[k]
	if s == nil {
		s = p.add(k)
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

// borrow takes a slot that nobody has and for which there is room; nil else.
func (d *devices) borrow(k slotKey) *slot {
	p := &d.parts[d.part(k)]
	p.Lock()
	s := p.slots[k]
	if s == nil && len(p.slots) < slotsPerPart {
		s = p.add(k)
	}
	if s != nil {
		s.refs++
	}
	p.Unlock()
	if s == nil {
		return nil
	}
	select {
	case s.lock <- struct{}{}:
		return s
	default:
		d.unref(k, s)
		return nil
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

// heard takes note in their views of when the devices were heard.
func (t *taken) heard(at andon.Time) {
	for _, s := range t.slots {
		if s.view != nil {
			s.view.heard = max(s.view.heard, at)
		}
	}
}

// stands reports whether the view is what another look would find: where nobody else can have
// written since a time, or it is younger than age.
func (s *slot) stands(alone, now shared.Moment, age time.Duration) bool {
	return s.view != nil && ((alone != 0 && s.read >= alone) || now < s.read.Add(age))
}

// views reads the views that are older than age where other processes may write, all of them where
// it is 0. Whoever goes on to write has asked here.
func (s *Store) views(ctx context.Context, t *taken, age time.Duration) error {
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	now := s.processes.now()
	alone := s.processes.Alone(now)
	var stale []int
	for i, slot := range t.slots {
		if !slot.stands(alone, now, age) {
			stale = append(stale, i)
		}
	}
	return parallel(ctx, len(stale), func(ctx context.Context, n int) error {
		slot, k := t.slots[stale[n]], t.keys[stale[n]]
		began := s.processes.now()
		v, err := s.look(ctx, k.tenant, k.device, false)
		if err == nil {
			slot.view, slot.read = v, began
		}
		return err
	})
}

// fromMemory is what a plan has where nothing was sent.
const fromMemory = "-- latest_by_device from memory: no other process writes to this keyspace"

// shown returns what latest_by_device has of a device, with the content of the newest entry: from
// memory where nobody else can have written it. It is the caller's own.
func (s *Store) shown(ctx context.Context, t *tenant, device andon.DeviceID) (*view, error) {
	now := s.processes.now()
	alone := s.processes.Alone(now)
	if alone == 0 {
		return s.look(ctx, t.key, device, true)
	}
	k := slotKey{t.key, device}
	slot := s.devices.borrow(k)
	if slot == nil { // somebody writes to it
		return s.look(ctx, t.key, device, true)
	}
	defer s.devices.give(k, slot)
	if slot.stands(alone, now, 0) {
		v := *slot.view
		if n := v.newest(t.record.States); n == nil || n.whole {
			andon.PlanOf(ctx).Add(andon.PlanStep{Statement: fromMemory, Rows: 1})
			return &v, nil
		}
	}
	v, err := s.look(ctx, t.key, device, true)
	if err != nil {
		return nil, err
	}
	own := *v
	if own.keepNewest(t.record.States); len(own.states) <= statesRemembered {
		slot.view, slot.read = &own, now
	}
	return v, nil
}
