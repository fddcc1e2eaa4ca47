// Package lifetime has the context of a call of the HTTP API.
//
// The package knows no request: its caller says when the call ends, and what the context holds.
package lifetime

import (
	"context"
	"sync"
	"time"

	"github.com/andonhq/andon/internal/intake"
)

// Context is the context of a call: that of its request, with the time that a call has, and who
// sent it. It sets no timer until Done is called, and most calls are answered without that: a timer
// and watching the client take a third of the time of a short request. Until then, or until the
// call takes long, it does not notice that the client is gone.
type Context struct {
	Request context.Context
	End     time.Time            // zero: the end of the request
	Long    time.Time            // when to look whether the client is gone; zero: never
	Caller  func() intake.Caller // for intake.CallerKey

	mu     sync.Mutex
	timed  context.Context // with the timer; nil until someone waits
	cancel context.CancelFunc
	ended  bool
}

var _ context.Context = (*Context)(nil)

// Deadline implements context.Context.
func (l *Context) Deadline() (end time.Time, ok bool) {
	if l.End.IsZero() {
		return l.Request.Deadline()
	}
	return l.End, true
}

// Done implements context.Context.
func (l *Context) Done() <-chan struct{} { return l.begun().Done() }

func (l *Context) begun() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed != nil {
		return l.timed
	}
	if l.End.IsZero() || l.ended {
		l.timed, l.cancel = context.WithCancel(l.Request)
	} else {
		l.timed, l.cancel = context.WithDeadline(l.Request, l.End)
	}
	if l.ended {
		l.cancel()
	}
	return l.timed
}

// Err implements context.Context.
func (l *Context) Err() error {
	l.mu.Lock()
	timed, now := l.timed, time.Now()
	late := l.ended || !l.End.IsZero() && !now.Before(l.End)
	long := !l.Long.IsZero() && now.After(l.Long)
	l.mu.Unlock()
	if timed == nil && (late || long) {
		timed = l.begun() // which says why
	}
	if timed == nil {
		return l.Request.Err()
	}
	return timed.Err()
}

// Value implements context.Context.
func (l *Context) Value(key any) any {
	if key == (intake.CallerKey{}) {
		return l.Caller()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed != nil { // so that a context below this one finds that it needs no goroutine
		return l.timed.Value(key)
	}
	return l.Request.Value(key)
}

// Stop ends the context with its call.
func (l *Context) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.cancel != nil {
		l.cancel()
	}
}
