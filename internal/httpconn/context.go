package httpconn

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// requestContext is the context of a request that is served directly. It ends with the request, or
// when the client leaves, which is watched for once Done is called: to start a read and to break it
// off takes a third of the time of a short request.
type requestContext struct {
	context.Context // ends with the request
	cancel          context.CancelFunc
	conn            *conn

	mu    sync.Mutex
	ended bool
	read  chan struct{} // closed when the read that watches returns; nil: none was started
	first [1]byte       // what that has read, of the next request
	n     int
}

func newContext(c *conn) *requestContext {
	ctx, cancel := context.WithCancel(c.context)
	return &requestContext{Context: ctx, cancel: cancel, conn: c}
}

// Done returns a channel that is closed when the context ends, and begins to watch for that.
func (r *requestContext) Done() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended && r.read == nil {
		r.read = make(chan struct{})
		_ = r.conn.Conn.SetReadDeadline(time.Time{})
		go r.watch()
	}
	return r.Context.Done()
}

// watch waits for the next byte, or for the client to leave.
func (r *requestContext) watch() {
	defer close(r.read)
	var err error
	r.n, err = r.conn.Conn.Read(r.first[:])
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		r.cancel()
	}
}

// end ends the context, and waits until nothing watches any more.
func (r *requestContext) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.cancel()
	if r.read != nil {
		_ = r.conn.SetReadDeadline(time.Unix(1, 0)) // in the past
		<-r.read
		_ = r.conn.SetReadDeadline(time.Time{})
	}
}

// ahead is what was read of the next request. It is called after end.
func (r *requestContext) ahead() []byte { return r.first[:r.n] }
