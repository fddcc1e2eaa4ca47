package wallclock_test

import (
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/wallclock"
)

// TestClock sets a clock, and says which time is sure, and by how much it was set back.
func TestClock(t *testing.T) {
	const minute = andon.Duration(60_000_000)
	const start, hour = andon.Time(1000 * 60 * minute), 60 * minute
	now, passed := start, time.Duration(0)
	c := wallclock.New(func() andon.Time { return now },
		func() time.Duration { return passed }, andon.ClockMark{}, nil)
	set := c.Watch()
	for _, step := range []struct {
		passes, set, sure, ahead, back andon.Duration // sure is after start
	}{
		{hour, 0, hour, 0, 0}, {0, hour / 2, 3 * hour / 2, hour / 2, 0},
		{0, -hour / 2, hour, 0, hour / 2},
		{0, 99 * hour, 3 * hour / 2, 99 * hour, 0}, // it was ahead by half an hour before
		{hour, 0, 5 * hour / 2, 0, 0}, {0, -99 * hour, 2 * hour, 0, 99 * hour},
		{0, -minute / 2, 2*hour - minute/2, 0, 0},
		{0, 8 * hour, 5 * hour / 2, 8 * hour, 0}, // as one that slept
		{23 * hour, 0, 51 * hour / 2, 0, 0}, {hour, 0, 34*hour - minute/2, 0, 0},
	} {
		now, passed = now.Add(step.passes+step.set), passed+step.passes.Std()
		if ahead, back := set(); ahead != step.ahead || back != step.back {
			t.Errorf("%+v: set ahead by %s, back by %s", step, ahead, back)
		}
		if got := c.Sure().Sub(start); got != step.sure {
			t.Errorf("%+v: sure is %s", step, got)
		}
	}
}
