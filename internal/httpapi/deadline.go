package httpapi

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// deadlineConn is a connection that sets its timers seldom. net/http sets seven deadlines for each
// request, one behind the other, and nearly none of them ever comes: each took a lock, a look at
// the clock and a timer of the runtime. Here a deadline that is later than the timer is only noted.
// Once the timer fires, the call goes on until the deadline.
type deadlineConn struct {
	net.Conn
	reads, writes deadline
	reading       *reading // nil: it can't be read without waiting
}

func newDeadlineConn(c net.Conn) deadlineConn {
	return deadlineConn{Conn: c, reading: newReading(c)}
}

// SetReadDeadline is of net.Conn.
func (c *deadlineConn) SetReadDeadline(t time.Time) error {
	return c.reads.set(t, c.Conn.SetReadDeadline)
}

// SetWriteDeadline is of net.Conn.
func (c *deadlineConn) SetWriteDeadline(t time.Time) error {
	return c.writes.set(t, c.Conn.SetWriteDeadline)
}

// SetDeadline is of net.Conn.
func (c *deadlineConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Read is of net.Conn.
func (c *deadlineConn) Read(p []byte) (n int, err error) {
	for {
		n, err = c.Conn.Read(p)
		if err == nil || n > 0 || !c.reads.early(err, c.Conn.SetReadDeadline) {
			return n, err
		}
	}
}

// Write is of net.Conn.
func (c *deadlineConn) Write(p []byte) (n int, err error) {
	for {
		part, err := c.Conn.Write(p[n:])
		n += part
		if err == nil || !c.writes.early(err, c.Conn.SetWriteDeadline) {
			return n, err
		}
	}
}

// writeBuffers writes several parts by one call of the operating system, where the connection can.
func (c *deadlineConn) writeBuffers(parts net.Buffers) (n int, err error) {
	for {
		sent, err := parts.WriteTo(c.Conn) // takes out what is sent
		n += int(sent)
		if err == nil || !c.writes.early(err, c.Conn.SetWriteDeadline) {
			return n, err
		}
	}
}

// CloseWrite ends this side of the connection, where it can be ended alone.
func (c *deadlineConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// deadline is that of the reads of a connection, or of its writes.
type deadline struct {
	mu    sync.Mutex
	due   time.Time // zero: there is none
	timer time.Time // that of the connection; zero: there is none, else due is not before it
}

// set sets the deadline. setTimer sets the timer of the connection.
func (d *deadline) set(due time.Time, setTimer func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due = due
	if due.IsZero() || !d.timer.IsZero() && !due.Before(d.timer) {
		return nil
	}
	d.timer = due
	return setTimer(due)
}

// early reports whether an error came of the timer alone, before the deadline. Then the timer is
// set to that, so that the call can go on.
func (d *deadline) early(err error, setTimer func(time.Time) error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.due.IsZero() && !time.Now().Before(d.due) {
		return false
	}
	d.timer = d.due
	return setTimer(d.due) == nil
}
