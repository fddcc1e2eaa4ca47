package merge

import (
	"sync"
	"time"
)

// Moment is a time on the process's own clock; 0 is none.
type Moment time.Duration

// Add returns the moment that is so much later.
func (m Moment) Add(d time.Duration) Moment { return m + Moment(d) }

// Clock is the clock of this process alone, which no setting of the time moves. It knows the
// time of day only to notice that the machine was suspended, when some clocks stop.
type Clock struct {
	begun time.Time

	mu    sync.Mutex
	ahead time.Duration // of the time of day before this clock
}

// NewClock starts a clock. The time must have come from time.Now, with its monotonic reading.
func NewClock(now time.Time) *Clock { return &Clock{begun: now} }

// leastJump is by how much the time of day must have gone ahead for a jump.
const leastJump = time.Second

// At returns the moment of a time that has come from time.Now just now, and whether the time of day
// jumped ahead since the last one.
func (c *Clock) At(t time.Time) (now Moment, jumped bool) {
	passed := t.Sub(c.begun)
	ahead := t.Round(0).Sub(c.begun.Round(0)) - passed
	c.mu.Lock()
	defer c.mu.Unlock()
	jumped = ahead > c.ahead+leastJump
	c.ahead = ahead
	return Moment(passed) + 1, jumped
}
