package app

import (
	"context"
	"fmt"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/wallclock"
)

// passing returns what says how much time has passed since, by a clock that can't be set.
func passing() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

func (a *App) startClock(ctx context.Context, store andon.Store) error {
	t, err := store.Tenant(ctx, andon.DefaultTenant)
	if err != nil && andon.KindOf(err) != andon.NotFound {
		return fmt.Errorf("read what is remembered of the clock: %w", err)
	}
	said, err := confirmedClock(a.Config.Expiry.Clock)
	if err != nil {
		return err
	}
	a.clock = wallclock.New(a.Now, a.Passed, t.Clock, a.tellOfClock)
	if said != 0 && !a.clock.Confirm(said) {
		a.Log.Warn("expiry.clock is not about what the clock says, so it confirms nothing",
			"said", said, "clock", a.Now())
	}
	return nil
}

func (a *App) tellOfClock(is andon.ClockMark) {
	if is.Doubted == 0 {
		a.Log.Info("the clock is believed again", "clock", is.Believed)
		return
	}
	a.Log.Warn("the clock jumped ahead: nothing is deleted by it until it has stood for a day, or "+
		"expiry.clock confirms it", "clock", is.Doubted, "believed", is.Believed)
}

// confirmedClock reads the time that a person said it is; 0: none was.
func confirmedClock(text string) (andon.Time, error) {
	if text == "" {
		return 0, nil
	}
	said, err := andon.ParseTime(text)
	if err != nil {
		return 0, andon.Errorf(andon.Invalid, "expiry.clock: %w", err)
	}
	return said, nil
}
