package shared

import (
	"context"

	"github.com/andonhq/andon/internal/parallel"
)

// Concurrency is how many statements of one request are under way at once.
const Concurrency = 128

// Parallel is parallel.Do, with at most Concurrency at once.
func Parallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	return parallel.Do(ctx, n, Concurrency, do)
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
