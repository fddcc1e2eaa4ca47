package current

import (
	"sync"
	"sync/atomic"
)

// pendingChanges are those of a fleet, by number, from Stage to Show. Slots name them and do not
// point to them: a pointer in each of a million slots would have the collector of garbage go
// through all of them again and again, while requests wait.
type pendingChanges struct {
	mu    sync.Mutex // of add and remove
	ring  atomic.Pointer[[]atomic.Pointer[Changes]]
	first uint32 // number of the oldest
	next  uint32 // that of the next one
}

// pendingRef names the i-th device of some changes: their number, and 32 bits with i and 1. 0 is
// none.
type pendingRef = uint64

func (c *Changes) ref(i int) pendingRef { return pendingRef(c.number)<<32 | pendingRef(i+1) }

// add gives changes their number.
func (p *pendingChanges) add(c *Changes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ring := p.ring.Load()
	if ring == nil || int(p.next-p.first) == len(*ring) {
		ring = p.grow()
	}
	c.number = p.next
	p.next++
	cell(*ring, c.number).Store(c)
}

// grow makes the ring larger. Readers of the former ring see the same changes.
func (p *pendingChanges) grow() *[]atomic.Pointer[Changes] {
	const least = 8
	former := p.ring.Load()
	if former == nil {
		former = &[]atomic.Pointer[Changes]{}
	}
	ring := make([]atomic.Pointer[Changes], max(least, 2*len(*former))) // a power of two
	for n := p.first; n != p.next; n++ {
		cell(ring, n).Store(cell(*former, n).Load())
	}
	p.ring.Store(&ring)
	return &ring
}

// remove removes the oldest.
func (p *pendingChanges) remove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	cell(*p.ring.Load(), p.first).Store(nil) // so that it does not stay in memory
	p.first++
}

// device returns a device as a pending change leaves it.
func (p *pendingChanges) device(ref pendingRef) *Device {
	return &cell(*p.ring.Load(), uint32(ref>>32)).Load().list[uint32(ref)-1].device
}

func cell(ring []atomic.Pointer[Changes], number uint32) *atomic.Pointer[Changes] {
	return &ring[number&uint32(len(ring)-1)]
}
