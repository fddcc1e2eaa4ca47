package wrap

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

// Guard returns s so that anyone may close it at any time: Close waits for the calls under way, and
// a call after it is Unavailable, as is who waits for a change then. No call reaches an engine that
// is closed, which could crash.
func Guard(s andon.Store) andon.Store {
	g := &guard{idle: make(chan struct{})}
	g.ended = g.leave
	open, closing := context.WithCancel(context.Background())
	shut := sync.OnceValue(func() error {
		closing()
		return g.shut(s.Close)
	})
	return &around{next: s, hook: g.begin, shut: shut, open: open}
}

// maxWait is how long Close waits for calls under way. Their callers have ended them by then, if
// they end at all.
const maxWait = 10 * time.Second

type guard struct {
	calls   atomic.Int64
	closing atomic.Bool   // a call counts itself first and looks then; Close does it the other way
	idle    chan struct{} // closed once closing and no call is under way
	once    sync.Once     // of closing idle
	ended   func(error)   // leave, made once and not for each call
}

var errClosed = andon.Errorf(andon.Unavailable, "the store is closed: the program is stopping")

func (g *guard) begin(context.Context, string) (end func(error), err error) {
	g.calls.Add(1)
	if g.closing.Load() {
		g.leave(nil)
		return nil, errClosed
	}
	return g.ended, nil
}

func (g *guard) leave(error) {
	if g.calls.Add(-1) == 0 && g.closing.Load() {
		g.once.Do(func() { close(g.idle) })
	}
}

// shut lets no call in any more, waits for those under way, and closes. Where one does not end the
// store is left as it is: what was acknowledged is kept, as after a crash.
func (g *guard) shut(closeStore func() error) error {
	g.closing.Store(true)
	if g.calls.Load() == 0 {
		g.once.Do(func() { close(g.idle) })
	}
	if idle, _ := sleep.Until(context.Background(), g.idle, maxWait); idle {
		return closeStore()
	}
	return errors.New("close the store: a call under way did not end within " + maxWait.String() +
		", so the store is left as after a crash")
}
