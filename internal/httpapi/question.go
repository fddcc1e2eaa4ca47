package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A question is answered where it is read: by the connection, while net/http waits for the next
// request. For each request that it reads, net/http starts a goroutine that sees whether the client
// leaves. That wakes another thread, which then waits for the next request in the place of the one
// that answers. So where one client asks, each question moves from one processor to the other,
// which takes longer than most answers. And to read a request and to write its answer takes
// net/http longer than most events take.
//
// Only what is beyond doubt is a question: one whole request of the plainest form, with a short
// body or none, and with nothing before and nothing behind it. net/http reads everything else: the
// first request of a connection, and all from the first that is no question.

// answerer is a handler that questions may be answered by. What begins is ended.
type answerer interface {
	http.Handler
	beginQuestion(r *http.Request) bool
	endQuestion()
}

// asking is what a connection knows of its questions.
type asking struct {
	context context.Context // of its requests
	server  *http.Server
	by      answerer // nil: net/http reads all
	known   bool     // net/http has read the first, and knows a connection that waits for the next
	remote  string
	poll    poll
	heading heading // of the last one
}

// setAsking has a connection answer questions, where the handler of its server can.
func (c *watchedConn) setAsking(ctx context.Context) {
	server, ok := ctx.Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return
	}
	by, _ := server.Handler.(answerer)
	c.asking = asking{
		context: ctx, server: server, by: by, remote: c.RemoteAddr().String(),
		poll: poll{conn: &c.deadlineConn},
	}
}

// ask answers questions until something else comes. It gets the bytes that were read into p, and
// returns those that net/http is to read.
func (c *watchedConn) ask(p []byte, n int, err error) (int, error) {
	a := &c.asking
	for err == nil && a.by != nil {
		q := c.crowd.question()
		var r *http.Request
		if len(p) == netReads {
			r = a.heading.next(a.context, &q.reader, p[:n])
		}
		if r == nil {
			a.by = nil // where the next request begins, net/http alone knows
		}
		if r == nil || !a.known || !a.by.beginQuestion(r) {
			a.known = true
			c.crowd.questions.Put(q)
			return n, nil
		}
		n, err = 0, c.answer(q, r)
		c.crowd.questions.Put(q) // a connection that waits needs none
		if err == nil {
			n, err = c.next(p)
		}
		if r.Method == http.MethodPost && n >= 2 && p[0] == '\r' && p[1] == '\n' {
			// Some clients end a body with an empty line, and net/http passes over it, too.
			if n = copy(p, p[2:n]); n == 0 && err == nil {
				n, err = c.next(p)
			}
		}
	}
	return n, err
}

// answer answers a question. Where that panics, net/http closes the connection, as it does for
// those that it reads.
func (c *watchedConn) answer(q *question, r *http.Request) error {
	a := &c.asking
	defer a.by.endQuestion()
	r.RemoteAddr = a.remote
	_ = c.SetReadDeadline(time.Time{}) // which would end a read that watches
	c.mu.Lock()
	c.told = true // for watch: nothing reads meanwhile
	c.mu.Unlock()
	if most := a.server.WriteTimeout; most > 0 {
		_ = c.SetWriteDeadline(time.Now().Add(most))
	}
	q.begin(c)
	a.by.ServeHTTP(q, r)
	return q.end()
}

// next waits for the next request as net/http does.
func (c *watchedConn) next(p []byte) (int, error) {
	var until time.Time
	if most := cmp.Or(c.asking.server.IdleTimeout, c.asking.server.ReadTimeout); most > 0 {
		until = time.Now().Add(most)
	}
	_ = c.SetReadDeadline(until)
	c.mu.Lock()
	c.told = false
	watching := c.watching
	c.mu.Unlock()
	if watching != nil && c.endWatch(watching) {
		return c.held(p), nil
	}
	begun := time.Now()
	alone := func() bool { return c.crowd.served.Load() <= 1 }
	if n := c.asking.poll.read(p, begun, alone); n > 0 {
		return n, nil
	}
	n, err := c.readNext(p)
	c.asking.poll.waited(time.Since(begun))
	return n, err
}

// question is one while it is read and answered, in room that is used again.
type question struct {
	reader headReader

	conn   *watchedConn
	header http.Header
	head   bytes.Buffer
	status int // 0 until the answer begins
	length int // of the answer; -1 where its header does not say it
	sent   int
	body   []byte // where its length is not known yet
	err    error  // of sending
}

// question returns room for one.
func (c *crowd) question() *question {
	if q, ok := c.questions.Get().(*question); ok {
		return q
	}
	return &question{header: http.Header{}}
}

// netReads is how much net/http reads at once where nothing is left of what it has read.
const netReads = 4096

// begin makes room for the answer.
func (q *question) begin(c *watchedConn) {
	clear(q.header)
	q.head.Reset()
	q.conn, q.status, q.sent, q.body, q.err = c, 0, 0, q.body[:0], nil
}

// Header is of http.ResponseWriter.
func (q *question) Header() http.Header { return q.header }

// SetReadDeadline is of http.ResponseController.
func (q *question) SetReadDeadline(t time.Time) error { return q.conn.SetReadDeadline(t) }

// SetWriteDeadline is of http.ResponseController.
func (q *question) SetWriteDeadline(t time.Time) error { return q.conn.SetWriteDeadline(t) }

// WriteHeader is of http.ResponseWriter.
func (q *question) WriteHeader(status int) {
	if q.status != 0 || status < http.StatusOK {
		return
	}
	q.status, q.length = status, -1
	if status == http.StatusNoContent || status == http.StatusNotModified {
		q.length = 0
	} else if n, err := strconv.Atoi(q.header.Get("Content-Length")); err == nil {
		q.length = n
	}
}

// Write is of http.ResponseWriter.
func (q *question) Write(p []byte) (int, error) {
	q.WriteHeader(http.StatusOK)
	if q.length < 0 {
		q.body = append(q.body, p...)
		return len(p), nil
	}
	if len(p) > q.length-q.sent {
		return 0, http.ErrContentLength
	}
	q.send(p)
	return len(p), q.err
}

// send sends a part of the answer, the first one with the header by one call.
func (q *question) send(p []byte) {
	q.sent += len(p)
	switch {
	case q.err != nil:
	case q.head.Len() > 0:
		_, q.err = q.conn.deadlineConn.Write(p)
	case len(p) <= shortAnswer:
		q.writeHead()
		q.head.Write(p)
		_, q.err = q.conn.deadlineConn.Write(q.head.Bytes())
	default:
		q.writeHead()
		_, q.err = q.conn.writeBuffers(net.Buffers{q.head.Bytes(), p})
	}
}

// shortAnswer is what is sooner copied than sent as a part of its own.
const shortAnswer = 1 << 10

func (q *question) writeHead() {
	b := append(q.head.AvailableBuffer(), "HTTP/1.1 "...)
	b = append(strconv.AppendInt(b, int64(q.status), 10), ' ')
	b = append(append(b, http.StatusText(q.status)...), "\r\nDate: "...)
	b = append(time.Now().UTC().AppendFormat(b, http.TimeFormat), "\r\n"...)
	q.head.Write(b)
	_ = q.header.Write(&q.head) // into memory
	q.head.WriteString("\r\n")
}

// end sends what is left. An answer that says so, or that is shorter than it says, ends the
// connection.
func (q *question) end() error {
	q.WriteHeader(http.StatusOK)
	if q.length < 0 {
		q.length = len(q.body)
		q.header.Set("Content-Length", strconv.Itoa(q.length))
	}
	if q.head.Len() == 0 {
		q.send(q.body)
	}
	if q.err == nil && q.sent < q.length {
		q.err = fmt.Errorf("%w: %d bytes of an answer of %d", io.ErrShortWrite, q.sent, q.length)
	}
	if q.err == nil && q.header.Get("Connection") == "close" {
		q.err = io.EOF
	}
	return q.err
}

// beginQuestion takes a question of the API, but none that may take long, until EndQuestions.
func (a *API) beginQuestion(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, basePath+"/") && !slices.Contains(a.long, r.URL.Path) &&
		!wantsLines(r) && a.questions.TryRLock()
}

func (a *API) endQuestion() { a.questions.RUnlock() }

// EndQuestions waits until those are answered that connections have taken, which a server that
// shuts down does not know of. From now on net/http reads all.
func (a *API) EndQuestions(ctx context.Context) error { return a.questions.Lock(ctx) }
