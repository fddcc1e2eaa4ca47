// Package sleep waits for a while.
package sleep

import (
	"context"
	"time"
)

// For waits until d is over, or the context ends: then it returns why.
func For(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
