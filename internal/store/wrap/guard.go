package wrap

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/andonhq/andon"
)

// Guard returns s so that anyone may close it at any time: Close waits for the calls under way, and
// a call after it is Unavailable. No call reaches an engine that is closed, which could crash.
func Guard(s andon.Store) andon.Store {
	g := &guard{idle: make(chan struct{})}
	shut := sync.OnceValue(func() error { return g.shut(s.Close) })
	return &around{next: s, hook: g.enter, shut: shut}
}

// patience is how long Close waits for calls under way. Their callers have ended them by then, if
// they end at all.
const patience = 10 * time.Second

// guard counts the calls under way.
type guard struct {
	mu      sync.Mutex
	calls   int
	closing bool
	idle    chan struct{} // closed once closing and no call is under way
}

var errClosed = andon.Errorf(andon.Unavailable, "the store is closed: the program is stopping")

func (g *guard) enter(context.Context, string) (end func(error), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		return nil, errClosed
	}
	g.calls++
	return g.leave, nil
}

func (g *guard) leave(error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.calls == 0 && g.closing {
		close(g.idle)
	}
}

// shut lets no call in any more, waits for those under way, and closes. Where one does not end the
// store is left as it is: what was acknowledged is kept, as after a crash.
func (g *guard) shut(closeStore func() error) error {
	g.mu.Lock()
	g.closing = true
	if g.calls == 0 {
		close(g.idle)
	}
	g.mu.Unlock()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-g.idle:
		return closeStore()
	case <-t.C:
		return errors.New("close the store: a call under way did not end within " +
			patience.String() + ", so the store is left as after a crash")
	}
}
