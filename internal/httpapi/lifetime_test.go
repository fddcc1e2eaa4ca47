package httpapi

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon/internal/intake"
)

func newLifetime(of context.Context) *lifetime {
	r := httptest.NewRequestWithContext(of, "GET", "/", nil)
	by := caller{who: "token", x: &exchange{id: "r1"}, r: r}
	return &lifetime{request: of, end: time.Now().Add(time.Minute), caller: by}
}

// TestLifetimeEnds: with its time, with its request and with its call, whether someone waits for it
// or looks now and then, and so does what is made of it.
func TestLifetimeEnds(t *testing.T) {
	for name, ends := range map[string]struct {
		end  func(l *lifetime, cancel func())
		with error
	}{
		"time": {
			func(*lifetime, func()) { <-time.After(time.Minute) }, context.DeadlineExceeded,
		},
		"request": {func(_ *lifetime, cancel func()) { cancel() }, context.Canceled},
		"call":    {func(l *lifetime, _ func()) { l.stop() }, context.Canceled},
	} {
		for _, waited := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				request, cancel := context.WithCancel(t.Context())
				defer cancel()
				l := newLifetime(request)
				defer l.stop()
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
	defer l.stop()
	want := intake.Caller{Who: "token", Remote: l.caller.r.RemoteAddr, RequestID: "r1"}
	if got := l.Value(intake.CallerKey{}); got != want {
		t.Errorf("got %+v", got)
	}
}
