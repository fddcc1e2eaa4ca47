package httpapi

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"weak"
)

// TestHeadingsAreReadOnce: a request in the words of the last one is that one with its own body,
// and none that only looks like it.
func TestHeadingsAreReadOnce(t *testing.T) {
	var h heading
	var read headReader
	const before, behind = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: ", "\r\nB: c"
	for _, c := range []struct {
		text  string
		again bool   // it is not read again
		body  string // of a request
		none  bool
	}{
		{text: before + "2" + behind + endOfHead + "ab", body: "ab"},
		{text: before + "2" + behind + endOfHead + "cd", again: true, body: "cd"},
		{text: before + "10" + behind + endOfHead + "0123456789", again: true, body: "0123456789"},
		{text: before + "0" + behind + endOfHead, again: true},
		{text: before + "2" + behind + endOfHead + "abc", again: true, none: true},
		{text: before + "2" + behind + endOfHead + "a", again: true, none: true},
		{text: before + "2" + endOfHead + "ab", body: "ab"},
		{text: before + "3" + endOfHead + "abc", again: true, body: "abc"},
		{text: before + "3" + strings.ToUpper(behind) + endOfHead + "abc", body: "abc"},
		{text: before + behind + endOfHead, none: true},
		{text: before + "1" + behind + endOfHead + "a", body: "a"},
		{text: before + "1\r\nContent-Length: 1" + behind + endOfHead + "a", none: true},
		{text: before + "1" + behind + endOfHead + "a", body: "a"},
		{text: before + "0x1" + behind + endOfHead + "a", none: true},
		{text: before + "99999" + behind + endOfHead + "a", none: true},
		{text: "GET /a HTTP/1.1\r\nHost: a" + endOfHead},
		{text: "GET /a HTTP/1.1\r\nHost: a" + endOfHead, again: true},
		{text: "GET /a HTTP/1.1\r\nHost: ab" + endOfHead},
		{text: "GET /a HTTP/1.1\r\nHost: ab" + endOfHead + "a", again: true, none: true},
		{text: "GET /a HTTP/1.1\r\nHost: ab\r\n", again: true, none: true},
	} {
		former := h.request
		r := h.next(t.Context(), &read, []byte(c.text))
		if (h.request == former) != c.again || (r == nil) != c.none {
			t.Fatalf("%q: read again: %v, request %v", c.text, h.request != former, r)
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

// TestAHeadingKeepsNoRoomOfReading: what a connection keeps of its last heading does not hold the
// room that it was read in, which is used again for other connections, or collected.
func TestAHeadingKeepsNoRoomOfReading(t *testing.T) {
	const text = "POST /api/v1/events HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
	var h heading
	read := func() weak.Pointer[question] {
		q := &question{}
		if h.next(t.Context(), &q.reader, []byte(text)) == nil {
			t.Fatal("not a question")
		}
		return weak.Make(q)
	}
	q := read()
	runtime.GC()
	if q.Value() != nil {
		t.Error("the heading holds the question that it was read in")
	}
	runtime.KeepAlive(&h)
}
