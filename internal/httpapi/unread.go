package httpapi

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Problems returns a listener whose connections answer with a problem where net/http can't read a
// request at all: it has a text of its own for a path such as /%zz and for a header that is too
// large, and asks no handler. Behind TLS that text is encrypted before it comes here, and stays.
func Problems(l net.Listener) net.Listener { return problemListener{l, newCrowd()} }

type problemListener struct {
	net.Listener
	crowd *crowd
}

// Accept waits for the next connection.
func (l problemListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &watchedConn{
		problemConn: &problemConn{newDeadlineConn(conn)}, place: place{crowd: l.crowd},
	}, nil
}

// problemConn can end its side alone, so that net/http waits for the client, which would else not
// read what was said.
type problemConn struct{ deadlineConn }

// Write sends p, or the problem in its place.
func (c *problemConn) Write(p []byte) (int, error) {
	problem := unread(p)
	if problem == nil {
		return c.deadlineConn.Write(p)
	}
	if _, err := c.deadlineConn.Write(problem); err != nil {
		return 0, err
	}
	return len(p), nil
}

// unread returns the problem for an answer that net/http wrote by itself, in one piece and with
// just these headers; nil for any other, which has a Date and more.
func unread(p []byte) []byte {
	const begins, headers = "HTTP/1.1 ",
		"\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	// Most of what is written is an answer of success, which is not looked at further.
	if !bytes.HasPrefix(p, []byte(begins)) || bytes.HasPrefix(p[len(begins):], []byte("2")) {
		return nil
	}
	line, text, found := strings.Cut(string(p[len(begins):min(len(p), 1024)]), headers)
	status, err := strconv.Atoi(line[:min(3, len(line))])
	if !found || err != nil || strings.Contains(line, "\r\n") {
		return nil
	}
	said := problem{
		Title: http.StatusText(status), Status: status, Detail: whyUnread(status, text),
		RequestID: newID(),
	}
	body, err := json.Marshal(said)
	if err != nil {
		return nil
	}
	answer := begins + strconv.Itoa(status) + " " + said.Title +
		"\r\nContent-Type: application/problem+json\r\nConnection: close\r\nContent-Length: " +
		strconv.Itoa(len(body)+1) + "\r\n\r\n"
	return append(append([]byte(answer), body...), '\n')
}

func whyUnread(status int, text string) string {
	if _, why, ok := strings.Cut(text, ": "); ok {
		return "the request can't be read: " + why
	}
	switch status {
	case http.StatusBadRequest:
		return "the request can't be read: its first line or a header is not of the form that " +
			"HTTP has; percent-encode '%', spaces and quotes in a path"
	case http.StatusRequestHeaderFieldsTooLarge:
		return "the header of the request is too large: send fewer or shorter header fields, and " +
			"a shorter path"
	}
	return strings.TrimSpace(text)
}
