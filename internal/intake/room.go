package intake

import (
	"sync/atomic"

	"github.com/andonhq/andon"
)

// Room is memory that is taken before it is used, so that it is bounded however many clients there
// are at once.
type Room struct {
	used atomic.Int64
	most int64
}

// Take takes n bytes. It is Busy when there are not enough left.
func (r *Room) Take(n int64) error {
	if r.used.Add(n) <= r.most {
		return nil
	}
	r.used.Add(-n)
	return andon.Errorf(andon.Busy,
		"too much is being sent and fetched at once: try again in a second")
}

// Give gives n bytes back.
func (r *Room) Give(n int64) { r.used.Add(-n) }

// Used returns how many bytes are taken.
func (r *Room) Used() int64 { return r.used.Load() }

// Most returns how many bytes there are in all.
func (r *Room) Most() int64 { return r.most }
