package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
)

// heading is the first line and the header of a request, and what they say. Most clients ask in the
// words of their last request, but for the length of the body: those are not read again.
type heading struct {
	before, behind string // the digits of Content-Length, or all is before
	sized          bool   // there is a Content-Length
	request        *http.Request
}

// headReader reads headings in room that is used again.
type headReader struct {
	text bytes.Reader
	http *bufio.Reader
}

const endOfHead = "\r\n\r\n"

// next returns the request that text is, unless that is something else than one of the plainest
// form with all of its body. It lasts no longer than text.
func (h *heading) next(ctx context.Context, read *headReader, text []byte) *http.Request {
	head, body, ended := bytes.Cut(text, []byte(endOfHead))
	if !ended {
		return nil
	}
	length, same := h.length(head)
	if !same {
		*h = headingOf(read, string(head))
		length, same = h.length(head)
	}
	if !same || length != len(body) {
		return nil
	}
	if h.request.ContentLength != int64(length) { // those before have ended
		h.request.ContentLength = int64(length)
		h.request.Header["Content-Length"] = []string{strconv.Itoa(length)}
	}
	r := h.request.WithContext(ctx)
	if r.Body = http.NoBody; length > 0 {
		held := &heldBody{}
		held.Reset(body)
		r.Body = held
	}
	return r
}

// heldBody is a body that was read with its heading.
type heldBody struct{ bytes.Reader }

// Close is of io.Closer.
func (*heldBody) Close() error { return nil }

// length returns how long the body is behind a head of the same words.
func (h *heading) length(head []byte) (n int, same bool) {
	digits := len(head) - len(h.before) - len(h.behind)
	if h.request == nil || digits < 0 || digits > len("4096") || (digits > 0) != h.sized ||
		string(head[:len(h.before)]) != h.before ||
		string(head[len(h.before)+digits:]) != h.behind {
		return 0, false
	}
	for _, c := range head[len(h.before):][:digits] {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// headingOf reads a head. One that is in doubt has no request.
func headingOf(read *headReader, head string) (h heading) {
	if !h.split(head) {
		return heading{}
	}
	read.text.Reset([]byte(head + endOfHead))
	if read.http == nil {
		read.http = bufio.NewReader(&read.text)
	}
	read.http.Reset(&read.text)
	r, err := http.ReadRequest(read.http)
	if err == nil && isPlainRequest(r) {
		r.Body = http.NoBody // that of the reader, whose room is used again
		h.request = r
	}
	return h
}

// split finds the length in a head. It reports false unless that is lines of printable ASCII, of
// which the first is that of a plain request, and no name has a space: http.ReadRequest lets
// "Transfer-Encoding : chunked" pass, which a server must refuse (RFC 9112, 5.1).
func (h *heading) split(head string) bool {
	asked, fields, _ := strings.Cut(head, "\r\n")
	posts := strings.HasPrefix(asked, "POST /")
	if !(posts || strings.HasPrefix(asked, "GET /")) || !strings.HasSuffix(asked, " HTTP/1.1") ||
		!isPrintable(asked) {
		return false
	}
	h.before = head
	at := len(asked)
	for line := range strings.SplitSeq(fields, "\r\n") {
		at += len("\r\n")
		name, _, _ := strings.Cut(line, ":")
		if line == "" || strings.Contains(name, " ") || !isPrintable(line) {
			return false
		}
		if strings.EqualFold(name, "Content-Length") {
			digits := len(name) + len(": ")
			if !posts || h.sized || !strings.HasPrefix(line[len(name):], ": ") {
				return false
			}
			h.sized, h.before, h.behind = true, head[:at+digits], head[at+len(line):]
		}
		at += len(line)
	}
	return true
}

func isPrintable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// isPlainRequest reports whether a request says nothing of how it, or the connection, is to be
// used.
func isPlainRequest(r *http.Request) bool {
	for _, name := range [...]string{"Expect", "Te", "Trailer", "Upgrade"} {
		if _, ok := r.Header[name]; ok {
			return false
		}
	}
	for _, value := range r.Header["Connection"] {
		if !strings.EqualFold(value, "keep-alive") {
			return false
		}
	}
	strange := func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune(".-_:[]", c))
	}
	return len(r.TransferEncoding) == 0 && r.Host != "" && !strings.ContainsFunc(r.Host, strange)
}
