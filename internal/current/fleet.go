package current

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"sync"

	"github.com/andonhq/andon"
)

// Fleet is what all devices of a tenant show now. A change is pending first, so that the next one
// can be computed from it, and is published later, once it is durable.
//
// One goroutine at a time may make places for new devices, call Stale, and call Stage. Publish and
// making a place need the fleet for themselves; Copy and all that reads what is published may run
// concurrently with each other and with Stage.
type Fleet struct {
	slabs   []slab // the slots by number
	end     uint32 // the number after the last one
	index   index
	names   names
	extras  extras
	pending pendingChanges

	states map[andon.State]*sorted // the devices that are shown, by state
	hidden sorted                  // the others of which something is known

	counts  map[groupState]count
	group   func(andon.DeviceID) uint32 // the number of a device, as Regroup has it
	silence silence
}

// NewFleet makes an empty fleet.
func NewFleet() *Fleet {
	return &Fleet{
		names: newNames(), index: newIndex(), states: map[andon.State]*sorted{},
		pending: pendingChanges{all: map[uint32]*Changes{}},
		counts:  map[groupState]count{}, group: func(andon.DeviceID) uint32 { return 0 },
	}
}

// NewSlot makes the place of a device that has none.
func (f *Fleet) NewSlot(id andon.DeviceID) *Slot {
	s := f.occupy(f.end, id)
	f.enter(s)
	return s
}

// Drop gives back the place of a device of which nothing is known any more, if no change is
// pending. It needs the fleet for itself, and must not run concurrently with Stage.
func (f *Fleet) Drop(s *Slot) {
	if !s.Pending() && !f.known(s) && f.Numbered(s.number) == s {
		f.leave(s)
		f.vacate(s)
	}
}

// Load enters a device under a number, while a fleet is made from what is stored. A number may be
// loaded again: the last one counts, and one without an ID means that there is none. The fleet is
// complete after Loaded.
func (f *Fleet) Load(number uint32, d *Device) {
	s := f.Numbered(number)
	if s != nil && f.id(s) != d.ID {
		f.vacate(s)
		s = nil
	}
	if d.ID == "" {
		return
	}
	if s == nil {
		s = f.occupy(number, d.ID)
	}
	f.pack(s, d)
}

// Loaded ends loading. Places of devices of which nothing is known are given back.
func (f *Fleet) Loaded() {
	known, end := 0, uint32(0)
	for s := range f.Slots(0, f.end) {
		if f.known(s) {
			end = s.number + 1
			known++
		} else {
			f.vacate(s)
		}
	}
	f.end = end
	f.index.first = make(map[uint32]uint32, known)
	var entered sync.WaitGroup // the index by id is made concurrently with the lists
	entered.Go(func() {
		for s := range f.Slots(0, f.end) {
			f.enter(s)
		}
	})
	f.makeLists(known)
	entered.Wait()
}

// makeLists makes the lists of all devices, so many, which are in no group yet.
func (f *Fleet) makeLists(known int) {
	lists := map[*sorted][]uint32{}
	for _, number := range f.inOrder(known) {
		o := f.listOf(f.Numbered(number))
		lists[o] = append(lists[o], number)
	}
	for o, numbers := range lists {
		f.fill(o, numbers)
		if first := f.Numbered(numbers[0]); f.alive(first) {
			f.addTo(first, count{shown: len(numbers)})
		}
	}
}

// Latest returns a device with its pending change, if there is one.
func (f *Fleet) Latest(s *Slot) (d Device) {
	f.latest(s, &d)
	return d
}

func (f *Fleet) latest(s *Slot, d *Device) {
	if pending := s.pending.Load(); pending != 0 {
		*d = *f.pending.device(pending)
		return
	}
	f.unpack(s, d)
}

// Shown returns a device as it is shown.
func (f *Fleet) Shown(s *Slot) (d Device) {
	f.unpack(s, &d)
	return d
}

// known is Device.Known of what is shown.
func (f *Fleet) known(s *Slot) bool { return s.time != 0 || s.received != 0 || s.extra != 0 }

// alive is Device.Alive of what is shown.
func (f *Fleet) alive(s *Slot) bool {
	if s.extra == 0 {
		return s.time > 0
	}
	return s.time > f.extras.get(&s.extra).retired
}

// Changes are devices as one write leaves them. They are computed from copies, while other
// writes go on; before Stage the write calls Stale for each copy.
type Changes struct {
	list   []changed
	number uint32 // of pendingChanges
}

type changed struct {
	device Device
	slot   *Slot
	copied uint32 // what Slot.changes was then
}

// NewChanges returns changes of at most so many devices.
func NewChanges(devices int) *Changes { return &Changes{list: make([]changed, 0, devices)} }

// Copy makes a copy of the newest state of a device for the caller to change. A device that has no
// place yet begins with nothing but its ID, of which a clone is made. Each device is copied once
// into a Changes.
func (c *Changes) Copy(f *Fleet, s *Slot, id andon.DeviceID) *Device {
	if len(c.list) == cap(c.list) {
		panic("current: more devices changed than were announced")
	}
	i := len(c.list)
	c.list = append(c.list, changed{slot: s})
	if s == nil {
		c.list[i].device.ID = andon.DeviceID(strings.Clone(string(id)))
	} else {
		c.CopyAgain(f, i)
	}
	return &c.list[i].device
}

// CopyAgain makes a new copy of the i-th device, which has a place.
func (c *Changes) CopyAgain(f *Fleet, i int) *Device {
	one := &c.list[i]
	// In this order: a change that comes between makes the copy stale, not the other way round.
	one.copied = one.slot.changes.Load()
	f.latest(one.slot, &one.device)
	return &one.device
}

// Stale reports whether the i-th device, which has a place, was changed since it was copied.
func (c *Changes) Stale(i int) bool { return c.list[i].slot.changes.Load() != c.list[i].copied }

// Len returns how many devices were copied.
func (c *Changes) Len() int { return len(c.list) }

// Device returns the i-th device.
func (c *Changes) Device(i int) *Device { return &c.list[i].device }

// Slot returns the place of the i-th device; nil where it has none yet.
func (c *Changes) Slot(i int) *Slot { return c.list[i].slot }

// Place gives the i-th device its place.
func (c *Changes) Place(i int, s *Slot) { c.list[i].slot = s }

// Stage makes the changes what the next ones are worked out from. Nothing may change them any more.
// All devices have their places.
func (c *Changes) Stage(f *Fleet) {
	f.pending.add(c)
	for i := range c.list {
		s := c.list[i].slot
		s.pending.Store(c.ref(i))
		s.changes.Add(1)
	}
}

// Publish makes changes visible. Changes must be published in the order of Stage.
func (f *Fleet) Publish(c *Changes) {
	for i := range c.list {
		s, d := c.list[i].slot, &c.list[i].device
		heard := f.uncounted(s)
		alive := f.alive(s)
		if alive && d.Alive() && f.names.name(s.state) == string(d.State) {
			f.pack(s, d)
		} else {
			f.unlist(s)
			f.pack(s, d)
			if !alive { // it was not counted, and its number may have changed meanwhile
				s.group = f.group(f.id(s))
			}
			f.list(s)
		}
		f.counted(s, heard)
		// After packing: Latest returns what is shown where no change is pending.
		s.pending.CompareAndSwap(c.ref(i), 0)
	}
	f.pending.remove()
}

// list enters a device in the order that it belongs to.
func (f *Fleet) list(s *Slot) {
	if f.known(s) {
		f.insert(f.listOf(s), s)
		f.countShown(s, 1)
	}
}

// unlist removes a device from the order that it is in.
func (f *Fleet) unlist(s *Slot) {
	if !f.known(s) {
		return
	}
	f.countShown(s, -1)
	o := f.listOf(s)
	if f.remove(o, s); o.count == 0 && o != &f.hidden {
		delete(f.states, andon.State(f.names.name(s.state)))
	}
}

// listOf returns the order that a device belongs to of which something is known.
func (f *Fleet) listOf(s *Slot) *sorted {
	if !f.alive(s) {
		return &f.hidden
	}
	state := andon.State(f.names.name(s.state))
	o := f.states[state]
	if o == nil {
		o = &sorted{}
		f.states[state] = o
	}
	return o
}

// Len returns how many places there are.
func (f *Fleet) Len() int { return f.index.slots }

// Numbers returns a number that is above that of each place.
func (f *Fleet) Numbers() uint32 { return f.end }

// Reserve leaves out the numbers below one that have no place: no new device gets them.
func (f *Fleet) Reserve(end uint32) {
	if end > f.end {
		f.end = end
		f.growSlabs()
	}
}

// Page gathers the devices that a query selects, a part at a time, so that its lock
// is never held for long.
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
func (f *Fleet) Read(p *Page, states *andon.StateSet, budget int) {
	merge := f.merge(p.query.Kind, p.query.States, p.from)
	if p.Devices == nil {
		p.Devices = make([]andon.Device, 0, min(p.most(), f.count(p.query.States)))
	}
	var shown Device
	for ; budget > 0 && len(merge) > 0; budget-- {
		p.Looked++
		id := merge[0].id
		if !strings.HasPrefix(string(id), p.query.Prefix) {
			break
		}
		f.unpack(f.Numbered(merge[0].number()), &shown)
		d, in := shown.List(p.query.Kind, states)
		if in && p.query.Admits(&d) {
			p.add(d)
		}
		if p.query.Sort == andon.ByDevice && len(p.Devices) == p.query.Limit {
			break
		}
		p.from = id
		f.advance(&merge)
	}
	if budget == 0 {
		p.from += "\x00" // the next that can be
		return
	}
	if p.query.Sort != andon.ByDevice {
		p.sort()
	}
	p.Done = true
}

func (f *Fleet) count(states andon.StateFilter) (n int) {
	for state, devices := range f.states {
		if states.Match(state) {
			n += devices.count
		}
	}
	return n
}

// add adds a device. In orders other than by id the best come out only at the end; what can't
// be among them is dropped whenever twice the page has come together.
func (p *Page) add(d andon.Device) {
	p.Devices = append(p.Devices, d)
	if p.query.Sort != andon.ByDevice && len(p.Devices) >= p.most() {
		p.sort()
	}
}

// most returns how many devices a page holds meanwhile.
func (p *Page) most() int {
	if p.query.Sort == andon.ByDevice {
		return p.query.Limit
	}
	return 2 * p.query.Limit
}

func (p *Page) sort() {
	slices.SortFunc(p.Devices, func(a, b andon.Device) int {
		return a.Position().Compare(b.Position(), p.query.Sort)
	})
	p.Devices = p.Devices[:min(len(p.Devices), p.query.Limit)]
}

// merge returns the devices that may be of a kind and of the selected states, from an id on, as one
// ascending sequence.
func (f *Fleet) merge(
	kind andon.DeviceKind, filter andon.StateFilter, from andon.DeviceID,
) (m merge) {
	for state, devices := range f.states {
		if (kind == andon.ShownDevices || kind == andon.AllDevices) && filter.Match(state) {
			m = f.join(m, devices, from)
		}
	}
	if kind != andon.ShownDevices {
		m = f.join(m, &f.hidden, from)
	}
	heap.Init(&m)
	return m
}

func (f *Fleet) join(m merge, devices *sorted, from andon.DeviceID) merge {
	if c, ok := f.seek(devices, from); ok {
		m = append(m, &c)
	}
	return m
}

// merge is a heap of places by their id.
type merge []*cursor

func (f *Fleet) advance(m *merge) {
	if f.next((*m)[0]) {
		heap.Fix(m, 0)
	} else {
		heap.Pop(m)
	}
}

func (m merge) Len() int           { return len(m) }
func (m merge) Less(i, j int) bool { return cmp.Less(m[i].id, m[j].id) }
func (m merge) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }

// Push implements heap.Interface.
func (m *merge) Push(x any) { *m = append(*m, x.(*cursor)) }

// Pop implements heap.Interface.
func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
