package current

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/andonhq/andon"
)

// Fleet is what all devices of a tenant show now. A change is pending first, so that the next one
// can be computed from it, and is published later, once it is durable.
//
// One goroutine at a time may make places for new devices, ask whether a copy still is the newest,
// and call Stage. Show and making a place need the fleet for themselves; Copy and all that reads
// what is published may run beside each other and beside Stage. Note is what the store wants to
// remember of each device.
type Fleet[Note any] struct {
	slots  map[andon.DeviceID]*Slot[Note]
	states map[andon.State]*byDevice[Note] // the devices that are shown, by state
	hidden byDevice[Note]                  // the others of which something is known

	silence silence[Note]
}

type byDevice[Note any] = btree.Map[andon.DeviceID, *Slot[Note]]

// Slot is the place of one device.
type Slot[Note any] struct {
	Note    Note
	shown   Device
	pending atomic.Pointer[Device] // the newest change that is not published yet
	changes atomic.Uint32          // how many there were, pending and published
}

// NewFleet makes an empty fleet.
func NewFleet[Note any]() *Fleet[Note] {
	return &Fleet[Note]{
		slots:  map[andon.DeviceID]*Slot[Note]{},
		states: map[andon.State]*byDevice[Note]{},
	}
}

// Slot returns the place of a device, or nil.
func (f *Fleet[Note]) Slot(id andon.DeviceID) *Slot[Note] { return f.slots[id] }

// NewSlot makes the place of a device that has none. It keeps id.
func (f *Fleet[Note]) NewSlot(id andon.DeviceID) *Slot[Note] {
	s := &Slot[Note]{shown: Device{ID: id}}
	f.slots[id] = s
	return s
}

// Drop frees the place of a device of which nothing is known any more, if no change is pending. It
// needs the fleet for itself, and must not run beside Stage.
func (f *Fleet[Note]) Drop(s *Slot[Note]) {
	if s.pending.Load() == nil && !s.shown.Known() && f.slots[s.shown.ID] == s {
		delete(f.slots, s.shown.ID)
	}
}

// Changes says how often the device was changed by Stage.
func (s *Slot[Note]) Changes() uint32 { return s.changes.Load() }

// Latest returns the device with its pending change, if there is one. It must not be changed.
func (s *Slot[Note]) Latest() *Device {
	if pending := s.pending.Load(); pending != nil {
		return pending
	}
	return &s.shown
}

// Shown returns the device as it is shown. It must not be changed.
func (s *Slot[Note]) Shown() *Device { return &s.shown }

// Changes are devices as one write leaves them. They are computed from copies, while other
// writes go on; before Stage the write asks which of the copies are old by then.
type Changes[Note any] struct {
	devices []Device // its capacity is fixed: slots point into it
	slots   []*Slot[Note]
	copied  []uint32 // what Slot.changes was then
}

// NewChanges makes room for changes of at most so many devices.
func NewChanges[Note any](devices int) *Changes[Note] {
	c := &Changes[Note]{}
	c.Reset(devices)
	return c
}

// Reset makes room for changes of at most so many other devices. What was there before must
// be published, and must not be copied any more.
func (c *Changes[Note]) Reset(devices int) {
	clear(c.devices)
	clear(c.slots)
	c.devices = slices.Grow(c.devices[:0], devices)
	c.slots = slices.Grow(c.slots[:0], devices)
	c.copied = slices.Grow(c.copied[:0], devices)
}

// Copy takes a copy of the newest state of a device for the caller to change. A device that has no
// place yet begins with nothing but its ID, of which a clone is made. Each device is copied once
// into a Changes.
func (c *Changes[Note]) Copy(s *Slot[Note], id andon.DeviceID) *Device {
	if len(c.devices) == cap(c.devices) {
		panic("current: more devices changed than there is room for")
	}
	i := len(c.devices)
	c.devices = append(c.devices, Device{})
	c.slots = append(c.slots, s)
	c.copied = append(c.copied, 0)
	if s == nil {
		c.devices[i].ID = andon.DeviceID(strings.Clone(string(id)))
	} else {
		c.CopyAgain(i)
	}
	return &c.devices[i]
}

// CopyAgain takes a new copy of the i-th device, which has a place.
func (c *Changes[Note]) CopyAgain(i int) *Device {
	s := c.slots[i]
	// In this order: a change that comes between makes the copy look old, not the other way round.
	c.copied[i] = s.changes.Load()
	c.devices[i] = *s.Latest()
	return &c.devices[i]
}

// Old reports whether the i-th device, which has a place, was changed since it was copied.
func (c *Changes[Note]) Old(i int) bool { return c.slots[i].changes.Load() != c.copied[i] }

// Len returns how many devices were copied.
func (c *Changes[Note]) Len() int { return len(c.devices) }

// Device returns the i-th device.
func (c *Changes[Note]) Device(i int) *Device { return &c.devices[i] }

// Slot returns the place of the i-th device; nil where it has none yet.
func (c *Changes[Note]) Slot(i int) *Slot[Note] { return c.slots[i] }

// Place gives the i-th device its place.
func (c *Changes[Note]) Place(i int, s *Slot[Note]) { c.slots[i] = s }

// Stage makes the changes what the next ones are worked out from. Nothing may change them any more.
// All devices have their places.
func (c *Changes[Note]) Stage() {
	for i, s := range c.slots {
		s.pending.Store(&c.devices[i])
		s.changes.Add(1)
	}
}

// Show makes changes visible. Changes must be shown in the order in which they were copied.
func (f *Fleet[Note]) Show(c *Changes[Note]) {
	for i, s := range c.slots {
		id, before, wasAlive := s.shown.ID, s.shown.State, s.shown.Alive()
		s.shown = c.devices[i]
		switch isAlive := s.shown.Alive(); {
		case !isAlive && s.shown.Known():
			f.hidden.Set(id, s)
		case !isAlive || !wasAlive: // it is shown now, or gone
			f.hidden.Delete(id)
		}
		if now, isAlive := s.shown.State, s.shown.Alive(); now != before || isAlive != wasAlive {
			if wasAlive {
				f.remove(before, s.shown.ID)
			}
			if isAlive {
				f.insert(now, s)
			}
		}
		// After the copy: Latest reads shown without a lock when no change is pending.
		s.pending.CompareAndSwap(&c.devices[i], nil)
	}
}

func (f *Fleet[Note]) insert(state andon.State, s *Slot[Note]) {
	devices := f.states[state]
	if devices == nil {
		devices = &byDevice[Note]{}
		f.states[state] = devices
	}
	devices.Set(s.shown.ID, s)
	f.silence.meet(s.shown.Received)
}

func (f *Fleet[Note]) remove(state andon.State, id andon.DeviceID) {
	devices := f.states[state]
	devices.Delete(id)
	if devices.Len() == 0 {
		delete(f.states, state)
	}
}

// Len returns how many places there are.
func (f *Fleet[Note]) Len() int { return len(f.slots) }

// Page gathers the devices that a query selects, a part at a time, so that no one who holds a lock
// for it holds it for long.
type Page struct {
	Devices []andon.Device // in the query's order once Done
	Done    bool
	Looked  int // how many devices were looked at

	query andon.DeviceQuery
	from  andon.DeviceID // where the next part begins
}

// NewPage begins a page.
func NewPage(q andon.DeviceQuery) *Page {
	p := &Page{query: q, from: andon.DeviceID(q.Prefix)}
	if q.Sort == andon.ByDevice && q.After != nil {
		p.from = max(p.from, q.After.Device)
	}
	return p
}

// Read looks at up to budget devices more.
func (f *Fleet[Note]) Read(p *Page, states *andon.StateSet, budget int) {
	merge := f.merge(p.query.States, p.from)
	if p.query.Kind != andon.ShownDevices {
		merge = f.mergeHidden(p.from)
	}
	for ; budget > 0 && len(merge) > 0; budget-- {
		it := merge[0]
		p.Looked++
		id := it.Key()
		if !hasPrefix(id, p.query.Prefix) {
			break
		}
		d, in := it.Value().shown.List(p.query.Kind, states)
		if in && p.query.Admits(&d) {
			p.add(d)
		}
		if p.full() {
			break
		}
		p.from = id + "\x00" // the next that can be
		merge.next()
	}
	if budget > 0 {
		p.finish()
	}
}

func hasPrefix(id andon.DeviceID, prefix string) bool {
	return len(id) >= len(prefix) && string(id[:len(prefix)]) == prefix
}

func (p *Page) full() bool {
	return p.query.Sort == andon.ByDevice && len(p.Devices) == p.query.Limit
}

// add takes a device in. In orders other than by id the best come out only at the end; what can't
// be among them is dropped whenever twice the page has come together.
func (p *Page) add(d andon.Device) {
	p.Devices = append(p.Devices, d)
	if p.query.Sort != andon.ByDevice && len(p.Devices) >= 2*p.query.Limit {
		p.sort()
	}
}

func (p *Page) finish() {
	if p.query.Sort != andon.ByDevice {
		p.sort()
	}
	p.Done = true
}

func (p *Page) sort() {
	slices.SortFunc(p.Devices, func(a, b andon.Device) int {
		switch pa, pb := a.Position(), b.Position(); {
		case pa.Less(pb, p.query.Sort):
			return -1
		case pb.Less(pa, p.query.Sort):
			return 1
		}
		return 0
	})
	p.Devices = p.Devices[:min(len(p.Devices), p.query.Limit)]
}

// merge returns the devices of the selected states from an id on, as one ascending sequence.
func (f *Fleet[Note]) merge(filter andon.StateFilter, from andon.DeviceID) merge[Note] {
	var m merge[Note]
	for state, devices := range f.states {
		if !filter.Match(state) {
			continue
		}
		if it := devices.Iter(); it.Seek(from) {
			m = append(m, &it)
		}
	}
	heap.Init(&m)
	return m
}

func (f *Fleet[Note]) mergeHidden(from andon.DeviceID) (m merge[Note]) {
	if it := f.hidden.Iter(); it.Seek(from) {
		m = append(m, &it)
	}
	return m
}

// Each calls visit with up to budget devices of which something is known, from an id on, and
// returns where to go on.
func (f *Fleet[Note]) Each(
	from andon.DeviceID, budget int, visit func(*Device),
) (next andon.DeviceID, more bool) {
	merge := append(f.merge(andon.StateFilter{}, from), f.mergeHidden(from)...)
	heap.Init(&merge)
	for ; len(merge) > 0; budget-- {
		if budget == 0 {
			return merge[0].Key(), true
		}
		visit(&merge[0].Value().shown)
		merge.next()
	}
	return "", false
}

// merge is a heap of iterators by their present id.
type merge[Note any] []*btree.MapIter[andon.DeviceID, *Slot[Note]]

func (m *merge[Note]) next() {
	if (*m)[0].Next() {
		heap.Fix(m, 0)
	} else {
		heap.Pop(m)
	}
}

func (m merge[Note]) Len() int           { return len(m) }
func (m merge[Note]) Less(i, j int) bool { return cmp.Less(m[i].Key(), m[j].Key()) }
func (m merge[Note]) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }

// Push is of heap.Interface.
func (m *merge[Note]) Push(x any) {
	*m = append(*m, x.(*btree.MapIter[andon.DeviceID, *Slot[Note]]))
}

// Pop is of heap.Interface.
func (m *merge[Note]) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
