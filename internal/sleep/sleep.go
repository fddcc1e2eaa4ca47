// Package sleep waits for a while.
package sleep

import (
	"context"
	"time"
)

// For waits until d is over, or the context ends: then it returns why.
func For(ctx context.Context, d time.Duration) error {
	_, err := Until(ctx, nil, d)
	return err
}

// Wake wakes who waits for c in Until, or who waits next. c has a buffer of one.
func Wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is awake already
	}
}

// Until is For that Wake ends early. No timer is made for what is over already: the race detector
// crashes where several goroutines of a synctest bubble read due timers (Go issue 78156).
func Until(ctx context.Context, wake <-chan struct{}, d time.Duration) (woken bool, err error) {
	if d <= 0 {
		return false, context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-wake:
		return true, nil
	case <-t.C:
		return false, nil
	}
}
