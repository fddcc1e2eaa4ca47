package cuckoo

import (
	"hash/maphash"
	"sync"
)

// Written remembers rows without values that are kept already, so that they are not written again.
// It is a cache of fixed size: what it has forgotten is written once more, which is harmless. A row
// is remembered by a hash of its key under a seed of this process: two keys of one hash would cost
// a row, but at 64 bits that does not happen, neither by chance nor on purpose. All methods may be
// called concurrently.
type Written struct {
	seed maphash.Seed
	mu   sync.RWMutex
	sums *Set
}

// NewWritten returns a cache for a number of rows, as New does for hashes.
func NewWritten(rows int) *Written {
	return &Written{seed: maphash.MakeSeed(), sums: New(rows)}
}

// Sum returns what a row is remembered by.
func (w *Written) Sum(key []byte) uint64 { return max(maphash.Bytes(w.seed, key), 1) }

// SumText is Sum of a key that is a text.
func (w *Written) SumText(key string) uint64 { return max(maphash.String(w.seed, key), 1) }

// Holds reports whether a row is remembered.
func (w *Written) Holds(sum uint64) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.sums.Contains(sum)
}

// Add remembers rows. It comes when they are kept for sure, not before.
func (w *Written) Add(sums map[uint64]bool) {
	if len(sums) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for sum := range sums {
		w.sums.Add(sum)
	}
}

// Forget forgets all rows, because some of them are deleted.
func (w *Written) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sums.Clear()
}
