package httpconn

import (
	"bufio"
	"bytes"
	"net/http"
	"strconv"
	"strings"
)

// head is the last request head of a connection and the request that it was parsed into. The next
// one is most often the same but for the length of the body, and then is not parsed again.
type head struct {
	before, after string // the digits of Content-Length, or all is before
	sized         bool   // there is a Content-Length
	parsed        *http.Request
}

const endOfHead = "\r\n\r\n"

// request returns the request that text is, which has its body. It is nil unless text is one whole
// request of the plainest form.
func (h *head) request(text []byte) *http.Request {
	own, body, ended := bytes.Cut(text, []byte(endOfHead))
	if !ended {
		return nil
	}
	length, same := h.length(own)
	if !same {
		*h = parseHead(string(own))
		length, same = h.length(own)
	}
	if !same || length != len(body) {
		return nil
	}
	r, u := *h.parsed, *h.parsed.URL
	r.URL, r.Header, r.ContentLength = &u, h.parsed.Header.Clone(), int64(length)
	if h.sized {
		r.Header["Content-Length"] = []string{strconv.Itoa(length)}
	}
	if r.Body = http.NoBody; length > 0 {
		received := &receivedBody{}
		received.Reset(body)
		r.Body = received
	}
	return &r
}

type receivedBody struct{ bytes.Reader }

// Close implements io.Closer.
func (*receivedBody) Close() error { return nil }

// length returns the Content-Length of a head, and whether it is otherwise the same as h.
func (h *head) length(text []byte) (n int, same bool) {
	digits := len(text) - len(h.before) - len(h.after)
	if h.parsed == nil || digits < 0 || digits > len("4096") || (digits > 0) != h.sized ||
		string(text[:len(h.before)]) != h.before ||
		string(text[len(h.before)+digits:]) != h.after {
		return 0, false
	}
	for _, c := range text[len(h.before):][:digits] {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// parseHead parses a head. If it is not of the plainest form, nothing is parsed.
func parseHead(text string) (h head) {
	if !h.split(text) {
		return head{}
	}
	text += endOfHead
	r, err := http.ReadRequest(bufio.NewReaderSize(strings.NewReader(text), len(text)))
	if err == nil && isPlain(r) {
		r.Body = http.NoBody // the one that was made holds the reader
		h.parsed = r
	}
	return h
}

// split finds the Content-Length in a head. It returns false unless all lines are printable ASCII,
// the first is of a plain request, and no name has a space: http.ReadRequest accepts
// "Transfer-Encoding : chunked", which a server must refuse (RFC 9112, section 5.1).
func (h *head) split(text string) bool {
	first, fields, _ := strings.Cut(text, "\r\n")
	post := strings.HasPrefix(first, "POST /")
	if !(post || strings.HasPrefix(first, "GET /")) || !strings.HasSuffix(first, " HTTP/1.1") ||
		!isPrintable(first) {
		return false
	}
	h.before = text
	at := len(first)
	for line := range strings.SplitSeq(fields, "\r\n") {
		at += len("\r\n")
		name, _, _ := strings.Cut(line, ":")
		if line == "" || strings.Contains(name, " ") || !isPrintable(line) {
			return false
		}
		if strings.EqualFold(name, "Content-Length") {
			value := len(name) + len(": ")
			if !post || h.sized || !strings.HasPrefix(line[len(name):], ": ") {
				return false
			}
			h.sized, h.before, h.after = true, text[:at+value], text[at+len(line):]
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

// isPlain reports whether no field of a request changes how it, or its connection, is to be
// understood.
func isPlain(r *http.Request) bool {
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
	unusual := func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune(".-_:[]", c))
	}
	return len(r.TransferEncoding) == 0 && r.Host != "" && !strings.ContainsFunc(r.Host, unusual)
}
