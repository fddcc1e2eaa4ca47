package intake

import (
	"context"
	"sync"
	"time"

	"github.com/andonhq/andon"
)

// Clock says which time is believed for deleting what has expired, as andon.ClockMark has it.
type Clock struct {
	now    func() andon.Time
	passed func() time.Duration
	report func(was, is andon.ClockMark)

	mu     sync.Mutex
	mark   andon.ClockMark
	looked time.Duration // by passed
}

// NewClock makes a Clock. passed is the time since any moment, by a clock that can't be set; mark
// is what was kept of the clock when the program ran last. report is called when it begins to be
// doubted, and when that ends.
func NewClock(
	now func() andon.Time, passed func() time.Duration, mark andon.ClockMark,
	report func(was, is andon.ClockMark),
) *Clock {
	c := &Clock{now: now, passed: passed, report: report, looked: passed(), mark: mark}
	c.turn(mark.Look(now(), -1))
	return c
}

// turn takes another mark. The caller holds mu, or is alone.
func (c *Clock) turn(is andon.ClockMark) {
	was := c.mark
	if c.mark = is; is.Doubted != was.Doubted {
		c.report(was, is)
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

// Believed returns the time that is believed.
func (c *Clock) Believed() andon.Time { return c.Mark().Believed }

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

func (in *Intake) believed() andon.Time {
	if in.options.Clock == nil {
		return in.options.Now()
	}
	return in.options.Clock.Believed()
}

// KeepClock writes down what is to be remembered of the clock, in the record of the tenant that
// always exists, unless it was done a moment ago.
func (in *Intake) KeepClock(ctx context.Context) error {
	const moment = andon.Duration(10 * time.Minute / time.Microsecond)
	if in.options.Clock == nil {
		return nil
	}
	mark := in.options.Clock.Mark()
	t, err := in.store.Tenant(ctx, andon.DefaultTenant)
	if err != nil {
		return err
	}
	if mark.Doubted == t.Clock.Doubted && mark.Last.Sub(t.Clock.Last) < moment &&
		mark.Last >= t.Clock.Last {
		return nil
	}
	_, _, err = in.changeTenant(ctx, t.ID, func(t *andon.Tenant) error {
		mark.Believed = max(mark.Believed, t.Clock.Believed) // another process's, on a shared one
		t.Clock = mark
		return stillThere(t)
	})
	return err
}
