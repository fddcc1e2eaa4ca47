package httpconn

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// response is the answer to one request that is served directly: an http.ResponseWriter.
type response struct {
	conn   *conn
	header http.Header
	head   bytes.Buffer // the status line and the header, once they are sent
	status int          // 0 until the answer begins
	length int          // of the body; -1 where the header does not say it
	sent   int          // of the body
	body   []byte       // where its length is not known yet
	err    error        // of sending
}

const (
	usualFields = 12  // of an answer's header
	usualHead   = 512 // bytes
	// shortBody is what is copied faster than it is sent as a part of its own.
	shortBody = 1 << 10
)

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// SetReadDeadline does nothing: the body has been read.
func (*response) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline bounds how long the answer may take, for http.ResponseController.
func (w *response) SetWriteDeadline(t time.Time) error { return w.conn.SetWriteDeadline(t) }

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status, w.length = status, -1
	if status == http.StatusNoContent || status == http.StatusNotModified {
		w.length = 0
	} else if n, err := strconv.Atoi(w.header.Get("Content-Length")); err == nil {
		w.length = n
	}
	if most := w.conn.server.http.WriteTimeout; most > 0 {
		w.conn.extend(&w.conn.writeBy, most, w.conn.Conn.SetWriteDeadline)
	}
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.length < 0 {
		w.body = append(w.body, p...)
		return len(p), nil
	}
	if len(p) > w.length-w.sent {
		return 0, http.ErrContentLength
	}
	w.send(p)
	return len(p), w.err
}

// send sends a part of the body, the first one together with the head.
func (w *response) send(p []byte) {
	w.sent += len(p)
	switch {
	case w.err != nil:
	case w.head.Len() > 0:
		_, w.err = w.conn.Conn.Write(p)
	case len(p) <= shortBody:
		w.writeHead(len(p))
		w.head.Write(p)
		_, w.err = w.conn.Conn.Write(w.head.Bytes())
	default:
		w.writeHead(0)
		parts := net.Buffers{w.head.Bytes(), p}
		_, w.err = parts.WriteTo(w.conn.Conn)
	}
}

// writeHead writes the status line and the header as net/http does, with space for n bytes after
// them.
func (w *response) writeHead(n int) {
	w.head.Grow(usualHead + n)
	b := append(w.head.AvailableBuffer(), "HTTP/1.1 "...)
	b = append(strconv.AppendInt(b, int64(w.status), 10), ' ')
	w.head.Write(append(append(b, http.StatusText(w.status)...), "\r\n"...))
	_ = w.header.Write(&w.head) // into memory
	b = append(w.head.AvailableBuffer(), "Date: "...)
	b = time.Now().UTC().AppendFormat(b, http.TimeFormat)
	w.head.Write(append(b, endOfHead...))
}

// end sends what is left. Its error ends the connection: the answer says so, is shorter than it
// says, or could not be sent.
func (w *response) end() error {
	w.WriteHeader(http.StatusOK)
	if w.length < 0 {
		w.length = len(w.body)
		w.header.Set("Content-Length", strconv.Itoa(w.length))
	}
	if w.head.Len() == 0 {
		w.send(w.body)
	}
	switch {
	case w.err != nil:
		return w.err
	case w.sent < w.length:
		return fmt.Errorf("%w: %d bytes of an answer of %d", io.ErrShortWrite, w.sent, w.length)
	case w.header.Get("Connection") == "close":
		return io.EOF
	}
	return nil
}
