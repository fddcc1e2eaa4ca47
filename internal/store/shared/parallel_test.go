package shared

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// TestParallel: all is done, many at once and never more than there may be, and the first error
// ends it.
func TestParallel(t *testing.T) {
	const n = 1000
	var done [n]atomic.Int64
	var now, most atomic.Int64
	err := Parallel(t.Context(), n, func(_ context.Context, i int) error {
		for is := now.Add(1); ; {
			was := most.Load()
			if is <= was || most.CompareAndSwap(was, is) {
				break
			}
		}
		defer now.Add(-1)
		done[i].Add(1)
		return nil
	})
	if err != nil || most.Load() > Concurrency {
		t.Errorf("%v, and %d at once", err, most.Load())
	}
	for i := range done {
		if done[i].Load() != 1 {
			t.Fatalf("%d was done %d times", i, done[i].Load())
		}
	}
	broken := errors.New("broken")
	err = Parallel(t.Context(), n, func(ctx context.Context, i int) error {
		if i == 3 {
			return broken
		}
		if i > 3 {
			<-ctx.Done()
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
