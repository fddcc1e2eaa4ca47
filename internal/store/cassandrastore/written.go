package cassandrastore

import (
	"hash/maphash"
	"sync"

	"github.com/andonhq/andon/internal/cuckoo"
)

// written remembers hints that this process wrote, so that they are not written again. It is a
// cache of fixed size: what it has forgotten is written once more, which is harmless. A hint is
// remembered by a hash under a seed of this process: two hints of one hash would cost one, and at
// 64 bits nobody meets them, nor makes them on purpose.
type written struct {
	seed maphash.Seed
	mu   sync.Mutex
	sums *cuckoo.Set
}

const writtenHints = 1 << 21 // 16 MiB

func newWritten() *written {
	return &written{seed: maphash.MakeSeed(), sums: cuckoo.New(writtenHints)}
}

// hint is one that is to be written, and how it is remembered.
type hint struct {
	sum uint64
	mutation
}

// sum identifies a hint by its table and key.
func (w *written) sum(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(w.seed)
	for _, p := range parts {
		_, _ = h.WriteString(p) // it never fails
		_ = h.WriteByte(0)
	}
	return max(h.Sum64(), 1)
}

// has reports whether a hint was written.
func (w *written) has(sum uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sums.Has(sum)
}

// add remembers hints. It comes when they are acknowledged, not before: one that was not kept must
// be written again.
func (w *written) add(hints []hint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range hints {
		w.sums.Add(h.sum)
	}
}
