package app

import (
	"context"
	"errors"
	"time"
)

// goTasks starts what goes on beside requests. The sweep begins at once: a program that is
// restarted often would else never do it.
func (a *App) goTasks() {
	ctx, cancel := context.WithCancel(context.Background())
	a.quit = cancel
	a.tasks.Go(func() { a.sweep(ctx) })
	if a.memory.isOurs() {
		a.tasks.Go(func() { a.memory.follow(ctx) })
	}
}

func (a *App) sweep(ctx context.Context) {
	t := time.NewTicker(a.Config.Expiry.Every)
	defer t.Stop()
	for {
		if err := errors.Join(a.intake.Expire(ctx), a.intake.KeepClock(ctx)); err != nil &&
			ctx.Err() == nil {
			a.Log.Error("sweep what has expired", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-a.intake.Wanted():
		}
	}
}
