package current

import (
	"hash/maphash"

	"github.com/andonhq/andon"
)

// index finds the slots of a fleet by id. It is a hash table that grows by one bucket at a time
// (linear hashing), so that no write waits while all of a million devices move. A slot is in the
// chain of its bucket, which takes 8 bytes a device with the bucket.
type index struct {
	seed    maphash.Seed
	pages   [][]uint32 // the first slot of each bucket: its number and 1; 0 is none
	buckets uint64
	round   uint64 // the power of two that buckets has reached
	slots   int
}

const indexPage = 1 << 8

func newIndex() index {
	x := index{seed: maphash.MakeSeed(), round: 1}
	x.grow()
	return x
}

// grow adds an empty bucket.
func (x *index) grow() {
	if x.buckets%indexPage == 0 {
		x.pages = append(x.pages, make([]uint32, indexPage))
	}
	if x.buckets++; x.buckets > 2*x.round {
		x.round *= 2
	}
}

func (x *index) head(bucket uint64) *uint32 { return &x.pages[bucket/indexPage][bucket%indexPage] }

// first returns where the chain of an id begins. Buckets from round on were split off from those
// before it.
func (x *index) first(id andon.DeviceID) *uint32 {
	sum := maphash.String(x.seed, string(id))
	bucket := sum & (2*x.round - 1)
	if bucket >= x.buckets {
		bucket &= x.round - 1
	}
	return x.head(bucket)
}

// Slot returns the place of a device, or nil.
func (f *Fleet) Slot(id andon.DeviceID) *Slot {
	for n := *f.index.first(id); n != 0; {
		slab := f.slabs[(n-1)/slabSlots]
		s := &slab.slots[(n-1)%slabSlots]
		if slab.id(s) == id {
			return s
		}
		n = s.next
	}
	return nil
}

// enter puts a slot that has its id into the index.
func (f *Fleet) enter(s *Slot) {
	x := &f.index
	if x.slots++; uint64(x.slots) > x.buckets {
		x.grow()
		f.split()
	}
	head := x.first(f.id(s))
	s.next, *head = *head, s.number+1
}

// split divides the chain of the bucket that the last one was split off from.
func (f *Fleet) split() {
	head := f.index.head(f.index.buckets - 1 - f.index.round)
	n := *head
	for *head = 0; n != 0; {
		s := f.At(n - 1)
		to := f.index.first(f.id(s))
		n, s.next, *to = s.next, *to, n
	}
}

// leave takes a slot out of the index.
func (f *Fleet) leave(s *Slot) {
	at := f.index.first(f.id(s))
	for *at != s.number+1 {
		at = &f.At(*at - 1).next
	}
	*at = s.next
	f.index.slots--
}
