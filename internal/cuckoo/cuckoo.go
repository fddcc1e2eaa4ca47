// Package cuckoo is a set in memory of fixed size: a cuckoo hash table of 64-bit hashes that
// forgets instead of growing. Stores use it to remember rows that need to be written only once. It
// must not know what is remembered.
package cuckoo

import "math/bits"

// Set is a set of hashes. While three of four slots are taken it forgets one in a million; beyond
// that it forgets hashes at random to add others. A hash that was not added is never taken for
// one that was, but for 0, which always is. It may not be used concurrently.
//
// A hash has two buckets that it may be in, and moves to its other one where another needs the
// slot. A bucket is one line of a processor's cache, so a lookup costs two of them at most.
type Set struct {
	buckets [][bucketSlots]uint64 // 0: free
	mask    uint64
	random  uint64 // its high bits choose the slot that is taken in a full bucket
}

const (
	bucketBits  = 3
	bucketSlots = 1 << bucketBits
)

// New makes a set of a number of slots, a power of two from 8 on, of 8 bytes each.
func New(slots int) *Set {
	n := slots / bucketSlots
	if n < 1 || slots != n*bucketSlots || n&(n-1) != 0 {
		panic("cuckoo: the number of slots is no power of two from 8 on")
	}
	return &Set{buckets: make([][bucketSlots]uint64, n), mask: uint64(n - 1)}
}

// Slots returns how many hashes the set can hold.
func (s *Set) Slots() int { return len(s.buckets) * bucketSlots }

// first and second are the buckets that a hash may be in.
func (s *Set) first(sum uint64) uint64  { return sum & s.mask }
func (s *Set) second(sum uint64) uint64 { return bits.RotateLeft64(sum, 32) & s.mask }

// Contains reports whether a hash is remembered.
func (s *Set) Contains(sum uint64) bool {
	return s.holds(s.first(sum), sum) || s.holds(s.second(sum), sum)
}

func (s *Set) holds(bucket, sum uint64) bool {
	for _, have := range s.buckets[bucket] {
		if have == sum {
			return true
		}
	}
	return false
}

// mostMoves bounds what one hash may cost.
const mostMoves = 8

// Add remembers a hash, and reports whether it was not remembered before.
func (s *Set) Add(sum uint64) bool {
	if s.Contains(sum) {
		return false
	}
	if s.put(s.first(sum), sum) {
		return true
	}
	at := s.second(sum)
	for range mostMoves {
		if s.put(at, sum) {
			return true
		}
		s.random = s.random*6364136223846793005 + 1442695040888963407 // Knuth's MMIX
		slot := &s.buckets[at][s.random>>(64-bucketBits)]
		sum, *slot = *slot, sum
		at ^= s.first(sum) ^ s.second(sum) // the other one
	}
	return true // the one that was moved last is forgotten
}

// put uses a free slot of a bucket, if there is one.
func (s *Set) put(bucket, sum uint64) bool {
	b := &s.buckets[bucket]
	for i, have := range b {
		if have == 0 {
			b[i] = sum
			return true
		}
	}
	return false
}

// Clear forgets everything.
func (s *Set) Clear() { clear(s.buckets) }
