package httpconn

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestHead: a request with the same head as the last one is parsed as that with its own body, and
// none that only looks like it.
func TestHead(t *testing.T) {
	var h head
	const before, after = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: ", "\r\nB: c"
	for _, c := range []struct {
		text  string
		again bool   // it is not parsed again
		body  string // of a request
		none  bool
	}{
		{text: before + "2" + after + endOfHead + "ab", body: "ab"},
		{text: before + "2" + after + endOfHead + "cd", again: true, body: "cd"},
		{text: before + "10" + after + endOfHead + "0123456789", again: true, body: "0123456789"},
		{text: before + "0" + after + endOfHead, again: true},
		{text: before + "2" + after + endOfHead + "abc", again: true, none: true},
		{text: before + "2" + after + endOfHead + "a", again: true, none: true},
		{text: before + "2" + endOfHead + "ab", body: "ab"},
		{text: before + "3" + endOfHead + "abc", again: true, body: "abc"},
		{text: before + "3" + strings.ToUpper(after) + endOfHead + "abc", body: "abc"},
		{text: before + after + endOfHead, none: true},
		{text: before + "1" + after + endOfHead + "a", body: "a"},
		{text: before + "1\r\nContent-Length: 1" + after + endOfHead + "a", none: true},
		{text: before + "1" + after + endOfHead + "a", body: "a"},
		{text: before + "0x1" + after + endOfHead + "a", none: true},
		{text: before + "99999" + after + endOfHead + "a", none: true},
		{text: "GET /a HTTP/1.1\r\nHost: a" + endOfHead},
		{text: "GET /a HTTP/1.1\r\nHost: a" + endOfHead, again: true},
		{text: "GET /a HTTP/1.1\r\nHost: ab" + endOfHead},
		{text: "GET /a HTTP/1.1\r\nHost: ab" + endOfHead + "a", again: true, none: true},
		{text: "GET /a HTTP/1.1\r\nHost: ab\r\n", again: true, none: true},
	} {
		former := h.parsed
		r := h.request([]byte(c.text))
		if (h.parsed == former) != c.again || (r == nil) != c.none {
			t.Fatalf("%q: parsed again: %v, request %v", c.text, h.parsed != former, r)
		}
		if r == nil {
			continue
		}
		body, err := io.ReadAll(r.Body)
		if string(body) != c.body || err != nil || r.ContentLength != int64(len(body)) {
			t.Errorf("%q: got %q of %d, %v", c.text, body, r.ContentLength, err)
		}
		length := r.Header.Get("Content-Length")
		if h.sized && length != fmt.Sprint(len(body)) || !h.sized && length != "" {
			t.Errorf("%q: its header says %q", c.text, length)
		}
	}
}
