package httpapi

import (
	"context"
	"net"
	"net/http"
)

// leaving is the writing side of a watchedConn. An answer goes out by one call of the operating
// system: net/http sends what fills its buffer, the header and the first 4 KB, and then the rest.
// To send is the dearest part of a page of a hundred items, and a client that is woken up by the
// first part waits for the second.
type leaving struct {
	begins  bool   // what is written next waits for what follows
	waiting []byte // the beginning of an answer
}

const mostWaiting = 8 << 10 // more than the buffer of net/http

// together has the first part that write sends wait for the next one.
func (x *exchange) together(request context.Context, write func() error) error {
	c, ok := request.Value(watchedKey{}).(*watchedConn)
	if !ok {
		return write()
	}
	c.out.begins = true
	err := write()
	c.out.begins = false
	if err != nil || len(c.out.waiting) == 0 {
		return err
	}
	if err = http.NewResponseController(x).Flush(); len(c.out.waiting) > 0 && err == nil {
		_, err = c.Write(nil) // no part followed
	}
	return err
}

// Write sends p, with what waits for it.
func (c *watchedConn) Write(p []byte) (int, error) {
	o := &c.out
	if o.begins && len(p) <= mostWaiting {
		o.begins = false
		o.waiting = append(o.waiting[:0], p...)
		return len(p), nil
	}
	before := len(o.waiting)
	if before == 0 {
		return c.problemConn.Write(p)
	}
	sent, err := c.writeBuffers(net.Buffers{o.waiting, p})
	o.waiting = o.waiting[:0]
	return max(sent-before, 0), err
}
