package current

import (
	"iter"
	"strings"
	"sync/atomic"

	"github.com/andonhq/andon"
)

// Slot is the place of one device, whose number never changes. At a million devices their memory is
// what a slot takes, so it is packed: names are numbers, and what few devices have is in extras. It
// has no pointers, so that the collector of garbage has nothing to follow.
type Slot struct {
	pending atomic.Uint64 // the newest change that is not published yet, by pendingChanges
	changes atomic.Uint32 // how many there were, pending and published
	// Note is what the store remembers of the device, as Changes says it.
	Note   uint32
	number uint32
	next   uint32 // in its chain of the index, and 1; 0: it is the last

	// of Device
	time, since, prevTime      andon.Time
	received                   andon.Time
	state, prevState, operator uint32 // of names
	extra                      uint32 // of Fleet.extras; 0 is none

	at     uint32 // where its id begins in slab.ids
	length uint32 // of its id; 0 is a place that no device has
	group  uint32 // by Fleet.Regroup
}

// extra is what of a device most devices do not have.
type extra struct {
	incident, lastNormal  andon.Time
	asideAt               andon.Time
	assignedFrom, retired andon.Time
	assignee              uint32 // of names
	escalated             Escalation
}

// slab are some slots, which stay where they are, and their ids.
type slab struct {
	slots *[slabSlots]Slot // nil where no device has one of them
	ids   string
	more  *strings.Builder // of ids; nil once the slab was full
	there int              // slots that devices have
}

const slabSlots = 128

func (b *slab) id(s *Slot) andon.DeviceID { return andon.DeviceID(b.ids[s.at : s.at+s.length]) }

// add adds the id of a slot. The ids of a slab that is full take no more memory than they need; a
// slot of it that is given to another device then begins to add to them again.
func (b *slab) add(s *Slot, id andon.DeviceID) {
	if b.more == nil {
		b.more = &strings.Builder{}
		b.more.Grow(slabSlots * (len(id) + 1)) // those of one slab are mostly as long
		b.more.WriteString(b.ids)
	}
	s.at, s.length = uint32(b.more.Len()), uint32(len(id))
	b.more.WriteString(string(id))
	b.ids = b.more.String()
	if b.there++; b.there == slabSlots {
		b.ids, b.more = strings.Clone(b.ids), nil
	}
}

// Number is the device's number in its fleet.
func (s *Slot) Number() uint32 { return s.number }

// Changes says how often the device was changed by Stage.
func (s *Slot) Changes() uint32 { return s.changes.Load() }

// Pending reports whether a change of the device is not published yet.
func (s *Slot) Pending() bool { return s.pending.Load() != 0 }

// Numbered returns the place of the device that has a number, or nil.
func (f *Fleet) Numbered(number uint32) *Slot {
	if number >= f.end || f.slabs[number/slabSlots].slots == nil {
		return nil
	}
	if s := &f.slabs[number/slabSlots].slots[number%slabSlots]; s.length > 0 {
		return s
	}
	return nil
}

// ID returns the id of the device that has a number, which there is.
func (f *Fleet) ID(number uint32) andon.DeviceID {
	b := &f.slabs[number/slabSlots]
	return b.id(&b.slots[number%slabSlots])
}

// Device is ID for a number that no device may have.
func (f *Fleet) Device(number uint32) (id andon.DeviceID, ok bool) {
	if ok = f.Numbered(number) != nil; ok {
		id = f.ID(number)
	}
	return id, ok
}

func (f *Fleet) id(s *Slot) andon.DeviceID { return f.slabs[s.number/slabSlots].id(s) }

// Slots visits the places of up to so many numbers from one on. No place may be made or dropped
// meanwhile.
func (f *Fleet) Slots(from, most uint32) iter.Seq[*Slot] {
	return func(yield func(*Slot) bool) {
		for number, end := from, min(from+most, f.end); number < end; number++ {
			if s := f.Numbered(number); s != nil && !yield(s) { // nil: the device was purged
				return
			}
		}
	}
}

func (f *Fleet) growSlabs() {
	if grow := int((f.end-1)/slabSlots) + 1 - len(f.slabs); grow > 0 {
		f.slabs = append(f.slabs, make([]slab, grow)...)
	}
}

func (f *Fleet) occupy(number uint32, id andon.DeviceID) *Slot {
	f.end = max(f.end, number+1)
	f.growSlabs()
	b := &f.slabs[number/slabSlots]
	if b.slots == nil {
		b.slots = new([slabSlots]Slot)
	}
	s := &b.slots[number%slabSlots]
	s.number = number
	b.add(s, id)
	return s
}

// vacate frees the place of a device, and a slab with its last one.
func (f *Fleet) vacate(s *Slot) {
	number := s.number
	f.pack(s, &Device{})
	b := &f.slabs[number/slabSlots]
	*s = Slot{}
	if b.there--; b.there == 0 {
		*b = slab{}
	}
}

func (f *Fleet) pack(s *Slot, d *Device) {
	s.time, s.since, s.prevTime, s.received = d.Time, d.Since, d.PrevTime, d.Received
	f.names.set(&s.state, string(d.State))
	f.names.set(&s.prevState, string(d.PrevState))
	f.names.set(&s.operator, string(d.Operator))
	plain := d.Incident == 0 && d.LastNormal == 0 && d.AsideAt == 0 &&
		d.AssignedFrom == 0 && d.Retired == 0 && d.Escalated == (Escalation{}) && d.Assignee == ""
	if plain && s.extra == 0 {
		return
	}
	r := f.extras.get(&s.extra)
	f.names.set(&r.assignee, string(d.Assignee))
	if plain {
		f.extras.drop(&s.extra)
		return
	}
	*r = extra{
		d.Incident, d.LastNormal, d.AsideAt, d.AssignedFrom, d.Retired, r.assignee,
		d.Escalated,
	}
}

func (f *Fleet) unpack(s *Slot, d *Device) {
	*d = Device{
		ID: f.id(s), Time: s.time, Since: s.since, PrevTime: s.prevTime, Received: s.received,
		State:     andon.State(f.names.name(s.state)),
		PrevState: andon.State(f.names.name(s.prevState)),
		Operator:  andon.PersonID(f.names.name(s.operator)),
	}
	if s.extra == 0 {
		return
	}
	r := f.extras.get(&s.extra)
	d.Incident, d.LastNormal, d.Escalated, d.AsideAt =
		r.incident, r.lastNormal, r.escalated, r.asideAt
	d.AssignedFrom, d.Retired = r.assignedFrom, r.retired
	d.Assignee = andon.PersonID(f.names.name(r.assignee))
}

// extras are the parts that few devices have, by number from 1 on.
type extras struct {
	pages [][]extra
	made  uint32
	free  []uint32
}

const extraPage = 128

// get returns the part of a number, and makes one where that is 0.
func (p *extras) get(number *uint32) *extra {
	if *number == 0 {
		*number = p.allocate()
	}
	return &p.pages[(*number-1)/extraPage][(*number-1)%extraPage]
}

func (p *extras) allocate() uint32 {
	if last := len(p.free) - 1; last >= 0 {
		number := p.free[last]
		p.free = p.free[:last]
		return number
	}
	if p.made%extraPage == 0 {
		p.pages = append(p.pages, make([]extra, extraPage))
	}
	p.made++
	return p.made
}

func (p *extras) drop(number *uint32) {
	*p.get(number) = extra{}
	p.free = append(p.free, *number)
	*number = 0
}
