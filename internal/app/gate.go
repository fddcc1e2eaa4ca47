package app

import (
	"errors"
	"net/http"
	"sync"
	"time"
)

// gate counts the requests under way, because http.Server.Close does not wait for them and the
// store must not close below one.
type gate struct {
	next http.Handler
	open sync.RWMutex // held for reading by each request
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.open.RLock()
	defer g.open.RUnlock()
	g.next.ServeHTTP(w, r)
}

// shut lets no request in any more and waits for those under way, but not longer than patience. It
// can't be undone.
func (g *gate) shut(patience time.Duration) error {
	empty := make(chan struct{})
	go func() {
		g.open.Lock()
		close(empty)
	}()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-empty:
		return nil
	case <-t.C:
		return errors.New("a request did not end, so the store was left as after a crash")
	}
}
