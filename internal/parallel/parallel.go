// Package parallel does several things at once. It knows nothing of what they are.
package parallel

import (
	"context"
	"sync"
	"sync/atomic"
)

// Do calls do for 0 to n-1, at most so many at once. The first error ends it and is returned.
func Do(
	ctx context.Context, n, most int, do func(ctx context.Context, i int) error,
) error {
	if n == 0 {
		return nil
	}
	if n == 1 {
		return do(ctx, 0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
			if err := do(ctx, int(i)); err != nil {
				cancel(err)
			}
		}
	}
	var workers sync.WaitGroup
	for range min(n, most) - 1 {
		workers.Go(work)
	}
	work()
	workers.Wait()
	return context.Cause(ctx)
}

// Each is Do that goes on where do fails for some: it ends early with the context only. It returns
// the first error by number, since those of all would be too many to read.
func Each(
	ctx context.Context, n, most int, do func(ctx context.Context, i int) error,
) error {
	failed := make([]error, n)
	err := Do(ctx, n, most, func(ctx context.Context, i int) error {
		failed[i] = do(ctx, i)
		return ctx.Err()
	})
	for _, first := range failed {
		if first != nil {
			return first
		}
	}
	return err
}
