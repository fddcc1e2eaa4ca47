package current

import (
	"hash/maphash"

	"github.com/andonhq/andon"
)

// index finds the slots of a fleet by id: for each hash of an id, the first of a chain of slots.
// The map has no pointers, and grows by a part at a time, so no write waits while all of a million
// devices move.
type index struct {
	seed  maphash.Seed
	first map[uint32]uint32 // number of the slot and 1, by hash
	slots int
}

func newIndex() index { return index{seed: maphash.MakeSeed(), first: map[uint32]uint32{}} }

func (x *index) hash(id andon.DeviceID) uint32 { return uint32(maphash.String(x.seed, string(id))) }

// Slot returns the place of a device, or nil.
func (f *Fleet) Slot(id andon.DeviceID) *Slot {
	for next := f.index.first[f.index.hash(id)]; next != 0; {
		slab := &f.slabs[(next-1)/slabSlots]
		s := &slab.slots[(next-1)%slabSlots]
		if slab.id(s) == id {
			return s
		}
		next = s.next
	}
	return nil
}

// SlotAfter is Slot for a caller whose last device has the place before, or nil. Requests for many
// devices mostly name them in the same order each time, so it first looks at the place
// that was made next, which is near in memory.
func (f *Fleet) SlotAfter(before *Slot, id andon.DeviceID) *Slot {
	if before != nil {
		if s := f.Numbered(before.number + 1); s != nil && f.id(s) == id {
			return s
		}
	}
	return f.Slot(id)
}

func (f *Fleet) enter(s *Slot) {
	f.index.slots++
	hash := f.index.hash(f.id(s))
	s.next = f.index.first[hash]
	f.index.first[hash] = s.number + 1
}

func (f *Fleet) leave(s *Slot) {
	f.index.slots--
	hash := f.index.hash(f.id(s))
	if first := f.index.first[hash]; first != s.number+1 {
		before := f.Numbered(first - 1)
		for before.next != s.number+1 {
			before = f.Numbered(before.next - 1)
		}
		before.next = s.next
	} else if s.next != 0 {
		f.index.first[hash] = s.next
	} else {
		delete(f.index.first, hash)
	}
}
