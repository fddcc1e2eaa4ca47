// Package written remembers which rows are kept already, so that they are not written again. It
// must not know what the rows are.
package written

import (
	"hash/maphash"
	"slices"
	"sync"
)

// Rows remembers rows without values. It is a cache of fixed size: what it has forgotten is written
// once more, which is harmless. A row is remembered by a hash of its key under a seed of this
// process: two keys of one hash would cost a row, but at 64 bits that does not happen, neither by
// chance nor on purpose. All methods may be called concurrently.
type Rows struct {
	seed maphash.Seed
	mu   sync.RWMutex
	// A hash belongs into one bucket, and takes the place of another one where that is full. Of as
	// many rows as fill half of the buckets about one in 250 is forgotten. The buckets are made a
	// page at a time, for the first row: a store that is opened for a moment clears no megabytes.
	pages []*page // nil: all of it is free
}

// bucketRows is how many rows are in a bucket: two lines of a processor's cache.
const bucketRows = 16

// pageBuckets is how many buckets are made at once: 4 KiB.
const pageBuckets = 32

type (
	bucket [bucketRows]uint64 // 0: free
	page   [pageBuckets]bucket
)

// New returns a cache for so many rows, of 8 bytes each, and at least as many as a page has.
func New(rows int) *Rows {
	const pageRows = pageBuckets * bucketRows
	return &Rows{
		seed: maphash.MakeSeed(), pages: make([]*page, (rows+pageRows-1)/pageRows),
	}
}

// Sum returns what a row is remembered by.
func (r *Rows) Sum(key []byte) uint64 { return max(maphash.Bytes(r.seed, key), 1) }

// SumText is Sum of a key that is a text.
func (r *Rows) SumText(key string) uint64 { return max(maphash.String(r.seed, key), 1) }

// place returns which bucket of which page a hash belongs into.
func (r *Rows) place(sum uint64) (page, bucket uint64) {
	n := sum % (uint64(len(r.pages)) * pageBuckets)
	return n / pageBuckets, n % pageBuckets
}

// Holds reports whether a row is remembered.
func (r *Rows) Holds(sum uint64) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	at, bucket := r.place(sum)
	p := r.pages[at]
	return p != nil && slices.Contains(p[bucket][:], sum)
}

// Add remembers rows. It comes when they are kept for sure, not before.
func (r *Rows) Add(sums map[uint64]bool) {
	if len(sums) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for sum := range sums {
		at, bucket := r.place(sum)
		if r.pages[at] == nil {
			r.pages[at] = new(page)
		}
		r.pages[at][bucket].add(sum)
	}
}

func (b *bucket) add(sum uint64) {
	at := slices.Index(b[:], sum)
	if at < 0 {
		at = slices.Index(b[:], 0)
	}
	if at < 0 {
		at = int(sum >> 60) // one of the 16 by chance
	}
	b[at] = sum
}

// Forget forgets all rows, because some of them are deleted.
func (r *Rows) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.pages)
}
