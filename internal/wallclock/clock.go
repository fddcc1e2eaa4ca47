// Package wallclock compares the time of day, which may be set, with how much time has passed. It
// says which time is believed, and by how much the clock was set back.
package wallclock

import (
	"sync"
	"time"

	"github.com/andonhq/andon"
)

// Clock looks at a clock, as andon.ClockMark has it. Its methods may be called concurrently.
type Clock struct {
	now    func() andon.Time
	passed func() time.Duration
	report func(andon.ClockMark)

	mu     sync.Mutex
	mark   andon.ClockMark
	looked time.Duration // by passed
}

// Least is by how much a clock is set at least: that timers wait for less does no harm.
const Least = andon.Duration(60_000_000)

// New makes a Clock. passed is the time since any moment, by a clock that can't be set; mark is
// what was kept of the clock when the program ran last, if anything was. report is called when it
// begins to be doubted, and when that ends; nil: nobody wants to know.
func New(
	now func() andon.Time, passed func() time.Duration, mark andon.ClockMark,
	report func(andon.ClockMark),
) *Clock {
	c := &Clock{now: now, passed: passed, report: report, looked: passed(), mark: mark}
	c.turn(mark.Look(now(), -1))
	return c
}

// turn takes another mark. The caller holds mu, or is alone.
func (c *Clock) turn(is andon.ClockMark) {
	was := c.mark
	if c.mark = is; is.Doubted != was.Doubted && c.report != nil {
		c.report(is)
	}
}

// Mark looks at the clock and returns what is to be remembered of it.
func (c *Clock) Mark() andon.ClockMark {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := c.passed()
	c.turn(c.mark.Look(c.now(), andon.DurationOf(passed-c.looked)))
	c.looked = passed
	return c.mark
}

// Believed returns the time that is believed for deleting what has expired.
func (c *Clock) Believed() andon.Time { return c.Mark().Believed }

// Sure returns a time that has come even if the clock has jumped ahead by more than an hour, unless
// it has stood for a day since, or that was so when c was made of nothing: what is too old by it
// need not be told.
func (c *Clock) Sure() andon.Time {
	is := c.Mark()
	return min(is.Last, is.Believed)
}

// Confirm believes the clock, where it says about the time that a person has said. It reports
// whether it does.
func (c *Clock) Confirm(said andon.Time) bool {
	const about = andon.Duration(24 * time.Hour / time.Microsecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if now.Sub(said) > about || said.Sub(now) > about {
		return false
	}
	c.turn(c.mark.Confirm(now))
	return true
}

// Watch returns what says by how much the clock was set since it was asked last: ahead, as that of
// a machine that slept is, or back; 0: by less than Least. It is for one goroutine.
func (c *Clock) Watch() (set func() (ahead, back andon.Duration)) {
	zero := func() andon.Time {
		c.Mark() // so that the day of a clock that has jumped begins then
		return c.now().Add(-andon.DurationOf(c.passed()))
	}
	last := zero()
	return func() (ahead, back andon.Duration) {
		was := last
		if last = zero(); max(last.Sub(was), was.Sub(last)) < Least {
			return 0, 0
		}
		return last.Sub(was), was.Sub(last)
	}
}
