package current

import (
	"hash/maphash"

	"github.com/andonhq/andon"
)

// index finds the slots of a fleet by id. It is a hash table that grows by one bucket at a time
// (linear hashing), so that no write waits while all of a million devices move. A slot is in the
// chain of its bucket. There are two buckets a slot, so that few chains have a second one.
type index struct {
	seed    maphash.Seed
	pages   [][]link // the first slot of each bucket
	buckets uint64
	level   uint64 // the power of two that buckets has reached
	slots   int
}

const indexPage = 1 << 8

func newIndex() index {
	x := index{seed: maphash.MakeSeed(), level: 1}
	x.grow()
	return x
}

// grow adds an empty bucket.
func (x *index) grow() {
	if x.buckets%indexPage == 0 {
		x.pages = append(x.pages, make([]link, indexPage))
	}
	if x.buckets++; x.buckets > 2*x.level {
		x.level *= 2
	}
}

func (x *index) bucket(n uint64) *link { return &x.pages[n/indexPage][n%indexPage] }

// A link names a slot: its number and 1 in the lower 29 bits, 0 being none, and 3 bits of the hash
// of its id, so that most of the ids that are others are not looked at.
type link uint32

const linkNumber = 1<<29 - 1

func (l link) number() uint32 { return uint32(l)&linkNumber - 1 }

// first returns where the chain of an id begins, and what a link to it has of its hash. Buckets
// from level on were split off from those before it.
func (x *index) first(id andon.DeviceID) (first *link, tag link) {
	sum := maphash.String(x.seed, string(id))
	bucket := sum & (2*x.level - 1)
	if bucket >= x.buckets {
		bucket &= x.level - 1
	}
	return x.bucket(bucket), link(sum>>32) &^ linkNumber
}

// Slot returns the place of a device, or nil.
func (f *Fleet) Slot(id andon.DeviceID) *Slot {
	first, tag := f.index.first(id)
	for l := *first; l != 0; {
		slab := &f.slabs[l.number()/slabSlots]
		s := &slab.slots[l.number()%slabSlots]
		if l&^linkNumber == tag && slab.id(s) == id {
			return s
		}
		l = s.next
	}
	return nil
}

// SlotAfter is Slot for a caller whose last device has the place before, or nil. Requests for many
// devices mostly name them in the same order each time, so it first looks at the place
// that was made next, which is near in memory.
func (f *Fleet) SlotAfter(before *Slot, id andon.DeviceID) *Slot {
	if before != nil {
		if s := f.At(before.number + 1); s != nil && f.id(s) == id {
			return s
		}
	}
	return f.Slot(id)
}

// enter puts a slot that has its id into the index.
func (f *Fleet) enter(s *Slot) {
	x := &f.index
	for x.slots++; uint64(2*x.slots) > x.buckets; {
		x.grow()
		f.split()
	}
	first, tag := x.first(f.id(s))
	s.next, *first = *first, link(s.number+1)|tag
}

// split divides the chain of the bucket that the last one was split off from.
func (f *Fleet) split() {
	first := f.index.bucket(f.index.buckets - 1 - f.index.level)
	l := *first
	for *first = 0; l != 0; {
		s := f.At(l.number())
		to, _ := f.index.first(f.id(s))
		l, s.next, *to = s.next, *to, l
	}
}

// leave removes a slot from the index.
func (f *Fleet) leave(s *Slot) {
	at, _ := f.index.first(f.id(s))
	for at.number() != s.number {
		at = &f.At(at.number()).next
	}
	*at = s.next
	f.index.slots--
}
