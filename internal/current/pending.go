package current

import "sync"

// pendingChanges are those of a fleet, by number, from Stage to Publish. Slots name them and do not
// point to them: a pointer in each of a million slots would have the garbage collector go through
// all of them again and again, while requests wait.
type pendingChanges struct {
	mu    sync.RWMutex // guards all
	all   map[uint32]*Changes
	first uint32 // number of the oldest
	next  uint32 // that of the next one
}

// pendingRef names the i-th device of some changes: their number, and 32 bits with i and 1. 0 is
// none.
type pendingRef = uint64

func (c *Changes) ref(i int) pendingRef { return pendingRef(c.number)<<32 | pendingRef(i+1) }

func (p *pendingChanges) add(c *Changes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.number = p.next
	p.all[c.number] = c
	p.next++
}

// remove removes the oldest.
func (p *pendingChanges) remove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, p.first)
	p.first++
}

func (p *pendingChanges) device(ref pendingRef) *Device {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return &p.all[uint32(ref>>32)].list[uint32(ref)-1].device
}
