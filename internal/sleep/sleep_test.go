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

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, wake := time.Now(), make(chan struct{}, 1)
		if woken, err := sleep.Until(t.Context(), wake, time.Hour); woken || err != nil {
			t.Errorf("woken %v, %v, want neither", woken, err)
		}
		wake <- struct{}{}
		woken, err := sleep.Until(t.Context(), wake, time.Hour)
		if !woken || err != nil || time.Since(begun) != time.Hour {
			t.Errorf("woken %v, %v after %s", woken, err, time.Since(begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := sleep.Until(ctx, nil, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want why the context ended", err)
		}
	})
}
