package shared

import (
	"context"
	"sync"
	"sync/atomic"
)

// Concurrency is how many statements of one request are under way at once.
const Concurrency = 128

// Parallel calls do for 0 to n-1, at most Concurrency at once. The first error ends it and is
// returned.
func Parallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
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
	for range min(n, Concurrency) - 1 {
		workers.Go(work)
	}
	work()
	workers.Wait()
	return context.Cause(ctx)
}

// Found calls find for several things at once, and returns what it found.
func Found[T, R any](
	ctx context.Context, all []T, find func(context.Context, T) (*R, error),
) (there []R, err error) {
	found := make([]*R, len(all))
	err = Parallel(ctx, len(all), func(ctx context.Context, i int) (err error) {
		found[i], err = find(ctx, all[i])
		return err
	})
	for _, r := range found {
		if r != nil {
			there = append(there, *r)
		}
	}
	return there, err
}

// Distinct returns values in their order, each once.
func Distinct[T comparable](all []T) (each []T) {
	met := make(map[T]bool, len(all))
	for _, value := range all {
		if !met[value] {
			met[value], each = true, append(each, value)
		}
	}
	return each
}
