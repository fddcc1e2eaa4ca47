package people

import (
	"sync"
	"time"

	"github.com/andonhq/andon"
)

// Clock compares the time of day, which may be set, with how much time has passed. Its methods may
// be called concurrently.
type Clock struct {
	now    func() andon.Time
	passed func() time.Duration

	mu     sync.Mutex
	mark   andon.ClockMark
	looked time.Duration // by passed
}

// SetBack is by how much a clock is set back at least: that timers wait for less does no harm.
const SetBack andon.Duration = minute

// NewClock makes a Clock. passed is the time since any moment, by a clock that can't be set.
func NewClock(now func() andon.Time, passed func() time.Duration) *Clock {
	c := &Clock{now: now, passed: passed}
	c.Sure()
	return c
}

// Sure returns a time that has come even if the clock has jumped ahead by more than an hour, unless
// it has stood for a day since, or that was so when c was made: what is too old by it need not be
// told.
func (c *Clock) Sure() andon.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, passed := c.now(), c.passed()
	c.mark = c.mark.Look(now, andon.DurationOf(passed-c.looked))
	c.looked = passed
	return min(now, c.mark.Believed)
}

// Watch returns what says by how much the clock was set back since it was asked last; 0: by less
// than a minute. It is for one goroutine.
func (c *Clock) Watch() (setBack func() andon.Duration) {
	zero := func() andon.Time {
		c.Sure() // so that the day of a clock that has jumped begins then
		return c.now().Add(-andon.DurationOf(c.passed()))
	}
	last := zero()
	return func() andon.Duration {
		was := last
		last = zero()
		if by := was.Sub(last); by >= SetBack {
			return by
		}
		return 0
	}
}
