package app

import (
	"context"
	"time"
)

// goSweep starts the sweep of what has expired. It sweeps at once, too: a program that is restarted
// often would else never do it.
func (a *App) goSweep() {
	ctx, cancel := context.WithCancel(context.Background())
	a.quit = cancel
	go func() {
		defer close(a.swept)
		a.sweep(ctx)
	}()
}

func (a *App) sweep(ctx context.Context) {
	t := time.NewTicker(a.Config.Expiry.Every)
	defer t.Stop()
	for {
		if err := a.intake.Expire(ctx); err != nil && ctx.Err() == nil {
			a.Log.Error("sweep what has expired", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}
