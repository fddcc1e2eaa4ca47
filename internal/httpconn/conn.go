package httpconn

import (
	"bytes"
	"cmp"
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// conn is a connection that serves requests within Read. It is used by one goroutine, that of
// net/http, with two exceptions: watching has its own lock; and while a handler works, net/http
// reads in another goroutine, to see whether the client leaves. Such a read never begins a request,
// and uses nothing here but the phase and the length of the first read.
type conn struct {
	net.Conn
	server  *Server
	context context.Context // of its requests
	remote  string
	buffer  int          // length of the first read, which is into an empty buffer
	phase   atomic.Int32 // busy, idle or between
	handled bool         // the handler has been called since the connection was idle

	head            head // of the last request
	readBy, writeBy time.Time
}

// A phase says what net/http is doing with a connection. net/http reports a connection as idle,
// sets one deadline, and waits for the first bytes of the next request, unless it has some already.
// Then it sets another deadline. So what is read between these two deadlines begins a request, and
// nothing else is known to: it may belong to a request whose beginning net/http had read before.
const (
	busy    = iota
	idle    // reported as idle
	between // between the two deadlines
)

// Read reads for net/http. Where that waits for the next request, it first serves those that come
// and are served directly.
func (c *conn) Read(p []byte) (int, error) {
	begins := c.phase.Swap(busy) == between
	if c.buffer == 0 {
		c.buffer = len(p)
	}
	n, err := c.Conn.Read(p)
	if !begins || len(p) != c.buffer || c.server.direct == nil {
		return n, err
	}
	for n > 0 && err == nil {
		r := c.head.request(p[:n])
		if r == nil || !c.server.direct.Take(r) || !c.server.serving.TryRLock() {
			break
		}
		n, err = c.serve(p, r)
	}
	return n, err
}

// serve serves a request and reads the next one into p, where its own body may be until then.
func (c *conn) serve(p []byte, r *http.Request) (n int, err error) {
	ctx, err := c.answer(r)
	if err != nil {
		return 0, err
	}
	n, err = c.next(p, ctx)
	if n > 0 && r.Method == http.MethodPost {
		// Some old clients end a body with an empty line, which net/http passes over, too.
		if n = copy(p, bytes.TrimLeft(p[:n], "\r\n")); n == 0 && err == nil {
			n, err = c.Conn.Read(p)
		}
	}
	return n, err
}

// answer calls the handler and sends the rest of its answer. An error ends the connection.
func (c *conn) answer(r *http.Request) (*requestContext, error) {
	defer c.server.serving.RUnlock()
	ctx := newContext(c)
	defer ctx.end()
	r = r.WithContext(ctx)
	r.RemoteAddr = c.remote
	w := &response{conn: c, header: make(http.Header, usualFields)}
	if c.server.stopping.Load() {
		w.header.Set("Connection", "close")
	}
	c.server.direct.ServeHTTP(w, r)
	return ctx, w.end()
}

// next reads the next request as net/http would, after what the last one has read of it.
func (c *conn) next(p []byte, last *requestContext) (n int, err error) {
	if most := cmp.Or(c.server.http.IdleTimeout, c.server.http.ReadTimeout); most > 0 {
		c.extend(&c.readBy, most, c.Conn.SetReadDeadline)
	} else if !c.readBy.IsZero() {
		_ = c.SetReadDeadline(time.Time{})
	}
	ahead := copy(p, last.ahead())
	n, err = c.Conn.Read(p[ahead:])
	return ahead + n, err
}

// extend sets a deadline that ends after most, unless the one that is set ends at most a sixteenth
// of that earlier. To set it for each request takes longer than many take, and nearly none is ever
// reached.
func (*conn) extend(by *time.Time, most time.Duration, set func(time.Time) error) {
	due := time.Now().Add(most)
	if late := due.Sub(*by); late < 0 || late > most/16 {
		*by = due
		_ = set(due) // if the connection is closed, the next call says so
	}
}

// Write writes for net/http: an answer, or its own answer to a request that it can't read.
func (c *conn) Write(p []byte) (int, error) {
	if !c.handled && c.server.unreadable != nil {
		if answer := c.server.unreadable.answer(p); answer != nil {
			if _, err := c.Conn.Write(answer); err != nil {
				return 0, err
			}
			return len(p), nil
		}
	}
	return c.Conn.Write(p)
}

// CloseWrite ends this side of the connection, where it can be ended alone. net/http then waits for
// the client, which would otherwise lose the answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// SetReadDeadline notes what is set, and what that says of the phase.
func (c *conn) SetReadDeadline(t time.Time) error {
	if !c.phase.CompareAndSwap(idle, between) {
		c.phase.Store(busy)
	}
	c.readBy = t
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline notes what is set.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.writeBy = t
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline notes what is set.
func (c *conn) SetDeadline(t time.Time) error {
	c.readBy, c.writeBy = t, t
	return c.Conn.SetDeadline(t)
}
