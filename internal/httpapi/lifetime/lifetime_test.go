package lifetime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon/internal/httpapi/lifetime"
	"github.com/andonhq/andon/internal/intake"
)

var caller = intake.Caller{Who: "token", Remote: "192.0.2.1:1", RequestID: "r1"}

func newLifetime(request context.Context) *lifetime.Context {
	return &lifetime.Context{
		Request: request, End: time.Now().Add(time.Minute),
		Caller: func() intake.Caller { return caller },
	}
}

// TestLifetimeEnds: with its time, with its request and with its call, whether someone waits for it
// or looks now and then, and so does what is made of it.
func TestLifetimeEnds(t *testing.T) {
	for name, ends := range map[string]struct {
		end  func(l *lifetime.Context, cancel func())
		with error
	}{
		"time": {
			func(*lifetime.Context, func()) { <-time.After(time.Minute) }, context.DeadlineExceeded,
		},
		"request": {func(_ *lifetime.Context, cancel func()) { cancel() }, context.Canceled},
		"call":    {func(l *lifetime.Context, _ func()) { l.Stop() }, context.Canceled},
	} {
		for _, waited := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				request, cancel := context.WithCancel(t.Context())
				defer cancel()
				l := newLifetime(request)
				defer l.Stop()
				below := context.Context(l)
				if waited {
					<-time.After(time.Second)
					var stop func()
					below, stop = context.WithTimeout(l, time.Hour)
					defer stop()
				}
				if l.Err() != nil || below.Err() != nil {
					t.Fatalf("%s: ended at once", name)
				}
				ends.end(l, cancel)
				synctest.Wait()
				if !errors.Is(l.Err(), ends.with) || !errors.Is(below.Err(), ends.with) {
					t.Errorf("%s: %v, %v; waited: %t", name, l.Err(), below.Err(), waited)
				}
				<-l.Done()
				<-below.Done()
			})
		}
	}
}

func TestLifetimeKnowsTheCaller(t *testing.T) {
	l := newLifetime(t.Context())
	defer l.Stop()
	if got := l.Value(intake.CallerKey{}); got != caller {
		t.Errorf("got %+v", got)
	}
}
