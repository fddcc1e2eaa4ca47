package pebblestore

import (
	"hash/maphash"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cuckoo"
)

// written remembers rows without values that are on the disk already, so that they are not written
// again: hints, and days of directories. It is a cache of fixed size: what it has forgotten is
// written once more, which is harmless. A row is remembered by a hash of its key under a seed of
// this process: two keys of one hash would cost a row, and at 64 bits nobody meets them, nor
// makes them on purpose. All methods may be called concurrently.
type written struct {
	seed maphash.Seed
	mu   sync.RWMutex
	sums *cuckoo.Set
}

const writtenRows = 1 << 20 // 8 MiB

func newWritten() *written {
	return &written{seed: maphash.MakeSeed(), sums: cuckoo.New(writtenRows)}
}

// sum returns what a row is remembered by.
func (w *written) sum(k key) uint64 { return max(maphash.Bytes(w.seed, k), 1) }

// hour returns what stands for an hour of an operator.
func (w *written) hour(operator andon.PersonID, hour uint32) uint64 {
	const odd = 0x9e3779b97f4a7c15
	return maphash.String(w.seed, string(operator)) + uint64(hour)*odd
}

// forget forgets all rows, because some of them are deleted.
func (w *written) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sums.Clear()
}

// holds reports whether a row is remembered.
func (w *written) holds(sum uint64) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.sums.Has(sum)
}

// add remembers rows.
func (w *written) add(sums map[uint64]bool) {
	if len(sums) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for sum := range sums {
		w.sums.Add(sum)
	}
}
