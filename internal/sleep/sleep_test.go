package sleep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon/internal/sleep"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := sleep.For(t.Context(), time.Hour); err != nil || time.Since(begun) != time.Hour {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := sleep.For(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the context ended: %v", err)
		}
	})
}
