package shared

import (
	"sync/atomic"

	"github.com/andonhq/andon"
)

// Stamps are times in µs, each above all that were taken before.
type Stamps struct{ last atomic.Int64 }

// Next takes one: now, unless that was taken.
func (s *Stamps) Next(now andon.Time) int64 {
	for {
		last := s.last.Load()
		next := max(last+1, int64(now))
		if s.last.CompareAndSwap(last, next) {
			return next
		}
	}
}
