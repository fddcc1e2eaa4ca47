package pebblestore

import (
	"hash/maphash"

	"github.com/andonhq/andon/internal/cuckoo"
)

// written remembers rows without values that were written already, so that they are not written
// again: hints, and days of directories. It is a cache of fixed size: what it has forgotten is
// written once more, which is harmless. A row is remembered by a hash of its key under a seed of
// this process: two keys of one hash would cost a row, and at 64 bits nobody meets them, nor
// makes them on purpose.
type written struct {
	seed maphash.Seed
	sums *cuckoo.Set // made at the first use
}

const writtenRows = 1 << 20 // 8 MiB

// enter remembers a row, and reports whether it is to be written.
func (w *written) enter(k key) bool {
	if w.sums == nil {
		w.seed, w.sums = maphash.MakeSeed(), cuckoo.New(writtenRows)
	}
	return w.sums.Add(max(maphash.Bytes(w.seed, k), 1))
}

// forget forgets all rows, because some of them will not be committed.
func (w *written) forget() {
	if w.sums != nil {
		w.sums.Clear()
	}
}
