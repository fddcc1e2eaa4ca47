package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/andonhq/andon/internal/intake"
)

// lifetime is the context of a call: that of its request, with the time that a call has, and who
// asks. It sets no timer until someone waits for its end, which most calls are answered without. It
// does not see that the client is gone until then, or until the call takes long.
type lifetime struct {
	request context.Context
	end     time.Time // zero: the end of the request
	long    time.Time // from when on it is worth knowing whether the client is gone; zero: never
	caller  caller

	mu     sync.Mutex
	timed  context.Context // with the timer; nil until someone waits
	cancel context.CancelFunc
	ended  bool
}

var _ context.Context = (*lifetime)(nil)

// caller is who asks, as an intake.Caller says it where that is asked for.
type caller struct {
	who string
	x   *exchange
	r   *http.Request
}

func (l *lifetime) Deadline() (end time.Time, ok bool) {
	if l.end.IsZero() {
		return l.request.Deadline()
	}
	return l.end, true
}

func (l *lifetime) Done() <-chan struct{} { return l.begun().Done() }

// begun returns the context with the timer.
func (l *lifetime) begun() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed != nil {
		return l.timed
	}
	if l.end.IsZero() || l.ended {
		l.timed, l.cancel = context.WithCancel(l.request)
	} else {
		l.timed, l.cancel = context.WithDeadline(l.request, l.end)
	}
	if l.ended {
		l.cancel()
	}
	return l.timed
}

func (l *lifetime) Err() error {
	l.mu.Lock()
	timed, now := l.timed, time.Now()
	late := l.ended || !l.end.IsZero() && !now.Before(l.end)
	long := !l.long.IsZero() && now.After(l.long)
	l.mu.Unlock()
	if timed == nil && (late || long) {
		timed = l.begun() // which says why
	}
	if timed == nil {
		return l.request.Err()
	}
	return timed.Err()
}

func (l *lifetime) Value(key any) any {
	if key == (intake.CallerKey{}) {
		c := &l.caller
		return intake.Caller{Who: c.who, Remote: c.r.RemoteAddr, RequestID: c.x.id}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed != nil { // by which a context below this one finds that it needs no goroutine
		return l.timed.Value(key)
	}
	return l.request.Value(key)
}

// stop ends the context with its call.
func (l *lifetime) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.cancel != nil {
		l.cancel()
	}
}
