package httpapi

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// watchedConn is a connection whose end is seen only where someone asks for it. While a request is
// served, net/http reads a byte in a goroutine of its own, and that read fails when the client is
// gone. To break it off and to wait for its end takes a third of the time of a short question. So
// that read is told at once that there is nothing. A request that waits for something, or that
// takes long, watches the connection itself, until the next read.
type watchedConn struct {
	*problemConn
	place
	mu       sync.Mutex
	deadline time.Time     // of reads
	told     bool          // net/http was told that there is nothing
	wanted   bool          // net/http is to watch: the request asked before it did
	watching chan struct{} // closed at the end of the read that watches; nil: there is none
	first    [1]byte       // what that has read
	ahead    bool          // and the next read returns
	gone     bool          // the client
	out      leaving
	asking   asking
}

// Read reads. One byte without a deadline is what net/http watches a connection by. If it does so
// in another way some day, it will watch again.
func (c *watchedConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	if len(p) == 1 && !c.deadline.IsZero() && !time.Now().Before(c.deadline) {
		c.mu.Unlock()
		return 0, os.ErrDeadlineExceeded // it was broken off before it began
	}
	watches := len(p) == 1 && c.deadline.IsZero()
	c.told = watches && !c.wanted
	if watches {
		c.wanted = false
	}
	told, watching := c.told, c.watching
	c.mu.Unlock()
	if told {
		return 0, nil
	}
	n, err := 0, error(nil)
	if watching != nil && c.endWatch(watching) {
		n = c.held(p)
	} else {
		n, err = c.readNext(p)
	}
	if len(p) > 1 {
		n, err = c.ask(p, n, err)
	}
	return n, err
}

// held returns what the read that watched has read, with what is there behind it: most often the
// rest of a request.
func (c *watchedConn) held(p []byte) int {
	n := copy(p, c.first[:])
	return n + max(c.readNow(p[n:]), 0)
}

// readNext reads once the client was answered.
func (c *watchedConn) readNext(p []byte) (int, error) {
	c.leave()
	n, err := c.problemConn.Read(p)
	if n > 0 {
		c.enter()
	}
	return n, err
}

// Close is of net.Conn.
func (c *watchedConn) Close() error {
	c.place.end()
	return c.problemConn.Close()
}

// watch calls left once the client is gone, unless net/http is to find that out.
func (c *watchedConn) watch(left func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.told || c.watching != nil {
		c.wanted = !c.told
		return
	}
	ended := make(chan struct{})
	c.watching = ended
	go func() {
		n, err := c.problemConn.Read(c.first[:])
		c.mu.Lock()
		c.ahead, c.gone = n > 0, err != nil && !isTimeout(err)
		gone := c.gone
		c.mu.Unlock()
		close(ended)
		if gone {
			left()
		}
	}()
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error) //nolint:errorlint // a connection returns it as it is
	return ok && e.Timeout()
}

// endWatch ends the read that watches, and reports whether it has read something.
func (c *watchedConn) endWatch(watching <-chan struct{}) (ahead bool) {
	_ = c.problemConn.SetReadDeadline(time.Unix(1, 0)) // in the past
	<-watching
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.problemConn.SetReadDeadline(c.deadline)
	ahead, c.ahead, c.watching = c.ahead, false, nil
	return ahead
}

// SetReadDeadline is of net.Conn.
func (c *watchedConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return c.problemConn.SetReadDeadline(t)
}

// SetDeadline is of net.Conn.
func (c *watchedConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

type watchedKey struct{}

// Watched is the ConnContext of a server that listens by Problems: by it a request finds its
// connection.
func Watched(ctx context.Context, c net.Conn) context.Context {
	if w, ok := c.(*watchedConn); ok {
		ctx = context.WithValue(ctx, watchedKey{}, w)
		w.setAsking(ctx)
	}
	return ctx
}

// watchClient calls left when the client of a request is gone, or has the request's context end.
func watchClient(request context.Context, left func()) {
	if w, ok := request.Value(watchedKey{}).(*watchedConn); ok {
		w.watch(left)
	}
}

// clientGone reports whether a request's client is known to be gone.
func clientGone(r *http.Request) bool {
	if r.Context().Err() != nil {
		return true
	}
	w, ok := r.Context().Value(watchedKey{}).(*watchedConn)
	if !ok {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone
}

// leaveCrowd says that a request may be served for long without anything to do.
func leaveCrowd(r *http.Request) {
	if w, ok := r.Context().Value(watchedKey{}).(*watchedConn); ok {
		w.place.end()
	}
}
