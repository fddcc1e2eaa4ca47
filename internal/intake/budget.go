package intake

import (
	"sync/atomic"

	"github.com/andonhq/andon"
)

// Budget is memory that is taken before it is used, so that it is bounded however many clients
// there are at once.
type Budget struct {
	used atomic.Int64
	most int64
}

// Take takes n bytes. It is Busy when there are not enough left.
func (b *Budget) Take(n int64) error {
	if b.used.Add(n) <= b.most {
		return nil
	}
	b.used.Add(-n)
	return andon.Errorf(andon.Busy,
		"too much is being sent and fetched at once: try again in a second")
}

// Give gives n bytes back.
func (b *Budget) Give(n int64) { b.used.Add(-n) }

// Used returns how many bytes are taken.
func (b *Budget) Used() int64 { return b.used.Load() }

// Most returns how many bytes there are in all.
func (b *Budget) Most() int64 { return b.most }
