package httpapi_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/httpconn"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// oneListener has one connection.
type oneListener struct{ conn chan net.Conn }

func (l oneListener) Accept() (net.Conn, error) {
	if c, ok := <-l.conn; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l oneListener) Close() error {
	close(l.conn)
	return nil
}

func (l oneListener) Addr() net.Addr { return &net.TCPAddr{} }

// conversation sends the parts, each by one call, after a plain request, and returns what came back
// until the server ended the connection or waited for more. It runs in a bubble.
func conversation(t *testing.T, direct bool, parts ...[]byte) string {
	t.Helper()
	l, done := oneListener{make(chan net.Conn, 1)}, make(chan error, 1)
	api := apiForRequests(t)
	var below httpconn.Direct
	if direct {
		below = api
	}
	server := httpconn.New(&http.Server{
		Handler: api, ReadHeaderTimeout: time.Hour,
		IdleTimeout: 2 * time.Hour, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
	}, below, httpapi.Unreadable)
	go func() { done <- server.Serve(l) }()
	ours, theirs := net.Pipe()
	l.conn <- theirs
	got, ended := make(chan []byte, 1), make(chan time.Duration, 1)
	begun := time.Now()
	go func() {
		all, _ := io.ReadAll(ours)
		ended <- time.Since(begun)
		got <- all
	}()
	for _, part := range append([][]byte{[]byte(plainGet)}, parts...) {
		if _, err := ours.Write(part); err != nil {
			break // the server had enough
		}
		synctest.Wait()
	}
	after := <-ended
	text := said(<-got) + fmt.Sprint("ended after ", after)
	ours.Close()
	server.Close()
	<-done
	return text
}

var ofOneAnswer = regexp.MustCompile(`[A-Z2-7]{26}|[A-Z][a-z]{2}, [0-9A-Za-z: ]{20} GMT`)

// said is answers in one form: what each says, without its time and the id that the server made.
func said(answers []byte) string {
	var text strings.Builder
	answers = ofOneAnswer.ReplaceAllFunc(answers, func(part []byte) []byte {
		return bytes.Repeat([]byte("A"), len(part)) // of the same length
	})
	for r := bufio.NewReader(bytes.NewReader(answers)); ; {
		if _, err := r.Peek(1); err != nil {
			return text.String()
		}
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			return text.String() + "the rest can't be read\n" // the answer to HEAD has no body
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		fmt.Fprintf(&text, "%s, closes: %v, length %d, %q\n", answer.Status, answer.Close,
			answer.ContentLength, answer.TransferEncoding)
		_ = answer.Header.Write(&text)
		fmt.Fprintf(&text, "%s\n%v\n", body, err)
	}
}

// cutInTwo cuts requests at a place; 0: they stay whole.
func cutInTwo(requests []byte, at uint16) [][]byte {
	if at == 0 || int(at) >= len(requests) {
		return [][]byte{requests}
	}
	return [][]byte{requests[:at], requests[at:]}
}

const (
	plainGet  = "GET /api/v1/states HTTP/1.1\r\nHost: localhost\r\n\r\n"
	plainPost = "POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\n" +
		"Content-Type: application/json\r\nContent-Length: 33\r\n\r\n" +
		`{"device":"a","state":"WARNING1"}`
)

// requestsInDoubt are what a client, or an attacker, may send in the place of a plain request.
func requestsInDoubt() []string {
	const plain, post = plainGet, plainPost
	with := func(lines ...string) string {
		return strings.TrimSuffix(plain, "\r\n") + strings.Join(lines, "\r\n") + "\r\n\r\n"
	}
	at := func(target string) string {
		return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	}
	filled := func(size int) string {
		return with("A: " + strings.Repeat("a", size-len(with("A: "))))
	}
	return []string{
		plain, plain + plain, plain + plain + plain, plain + post + plain, post + plain,
		plain + "body",
		with("Content-Length: 0"), with("Content-Length: 4") + "body",
		with("Content-Length: 4", "Content-Length: 4") + "body" + plain,
		with("Content-Length: 4", "Content-Length: 5") + "body" + plain,
		with("Content-Length : 4") + "body" + plain, with("Content Length: 4") + "body" + plain,
		with("Transfer-Encoding: chunked") + "4\r\nbody\r\n0\r\n\r\n" + plain,
		with("Transfer-Encoding : chunked"), with("Transfer-Encoding: identity"),
		with("Transfer-Encoding:\tchunked"),
		with("Transfer-Encoding: chunked", "Content-Length: 4"),
		with("A : b"), with("A\t: b"), with("A B: c"), with("A(: b"), with(": b"), with("A"),
		with("A:"),
		with("A: b", " c"), with("A: b", "\tc"), with("A: \x00"), with("A\x00: b"), with("A: \xff"),
		strings.ReplaceAll(plain, "\r\n", "\n"), strings.ReplaceAll(plain, "\r\n", "\r"),
		"\r\n" + plain,
		strings.Replace(plain, "1.1", "1.0", 1), strings.Replace(plain, "1.1", "1.2", 1),
		strings.Replace(plain, "1.1", "2.0", 1), strings.Replace(plain, "1.1", "3.0", 1),
		strings.Replace(plain, "1.1", "0.9", 1), strings.Replace(plain, "1.1", "9.9", 1),
		strings.Replace(plain, "HTTP", "http", 1), strings.Replace(plain, " HTTP/1.1", "", 1),
		strings.Replace(plain, "GET", "HEAD", 1), strings.Replace(plain, "GET", "get", 1),
		strings.Replace(plain, "Host: localhost\r\n", "", 1), with("Host: localhost"),
		with("Host:"),
		strings.Replace(plain, "localhost", "", 1), strings.Replace(plain, "localhost", "a/b", 1),
		strings.Replace(plain, "localhost", "evil.example", 1),
		strings.Replace(plain, "localhost", "[::1]:80", 1),
		strings.Replace(plain, "localhost", "a@b", 1),
		at("http://localhost/api/v1/states"), at("localhost:80"), at("*"), at("//api/v1/states"),
		at("/api/v1//states"), at("/api/v1/states/"), at("/api/v1/../v1/states"), at("/api/v1/%zz"),
		at("/api/v1/st%61tes"), at("/api/v1/states?"), at("/api/v1/states?a;b"),
		at("/api/v1/states?%zz"),
		at("/api/v1/states#a"), at("/api/v1/events?limit=x"), at("/api/v1/devices"), at("/api/v1"),
		at("/api/v1/"), at("/api/v1/devices/a%2Fb"), at("/api/v1/nothing"), at("/metrics"),
		at("/healthz"),
		at("/"), at("/api/v1/states HTTP/1.1 "), at("/api/v1/sweep"), at("/api/v1/tenants"),
		with("Connection: close") + plain, with("Connection: keep-alive"),
		with("Connection: Keep-Alive, close"),
		with("Connection: upgrade", "Upgrade: websocket"), with("Upgrade: h2c"),
		with("Connection: a"),
		with("Expect: 100-continue"), with("Expect: a"), with("Range: bytes=0-3"),
		with("If-None-Match: *"),
		with("If-Modified-Since: Mon, 23 Nov 2026 06:00:00 GMT"), with("Accept-Encoding: gzip"),
		with("Accept: text/html"), with("Accept: application/x-ndjson"), with("TE: trailers"),
		with("Trailer: A"), with("Origin: http://evil.example"), with("Origin: http://localhost"),
		with("Sec-Fetch-Site: cross-site"), with("Authorization: Bearer a"),
		with("X-Request-Id: mine"),
		with("Andon-Tenant: none"), with("Andon-Tenant: a", "Andon-Tenant: b"),
		with("Pragma: no-cache"),
		with("Cookie: a=b", "Cookie: c"), with("X-Forwarded-For: 10.0.0.1"), with("A: b") + "\r\n",
		filled(4095), filled(4096), filled(4097), filled(4096) + plain, filled(8192),
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	}
}

// postsInDoubt are what they may send in the place of a plain post.
func postsInDoubt() []string {
	const plain, post, event = plainGet, plainPost, `{"device":"a","state":"WARNING1"}`
	head := strings.TrimSuffix(post, event)
	posted := func(length string, parts ...string) string {
		return strings.Replace(head, "33", length, 1) + strings.Join(parts, "")
	}
	with := func(line string) string { return posted("33\r\n"+line, event) }
	return []string{
		post, post + post, post + plain, posted("32", event), posted("34", event), posted("0"),
		posted("33"), posted("033", event), posted(" 33", event), posted("33 ", event),
		posted("+33", event), posted("3x", event), posted("", event), posted("99999", event),
		posted("9", "{\"device\""), posted("4", "\r\n\r\n"),
		posted(fmt.Sprint(len(plain)), plain), posted("3900", strings.Repeat(" ", 3900)),
		posted("5000", strings.Repeat(" ", 5000)),
		with("Content-Length: 33"), with("Content-Length: 32"), with("Transfer-Encoding: chunked"),
		with("Content-Encoding: gzip"), with("Expect: 100-continue"), with("Connection: close"),
		with("Authorization: Basic a"), with("Origin: http://evil.example"),
		strings.Replace(post, "json", "xml", 1), strings.Replace(post, "events", "states", 1),
		strings.Replace(post, "events", "sweep", 1), strings.Replace(post, "events", "readings", 1),
		strings.Replace(post, "POST", "PUT", 1), strings.Replace(post, "POST", "GET", 1),
		strings.Replace(post, "Content-Length", "content-length", 1),
		strings.Replace(post, "Content-Length", "Content-Length ", 1),
		strings.Replace(post, "Content-Length: 33\r\n", "", 1),
	}
}

// FuzzRequests: whatever comes in whatever parts, it is answered as if net/http read all.
func FuzzRequests(f *testing.F) {
	firstRunOnly(f)
	const plain, post = plainGet, plainPost
	for _, seed := range append(requestsInDoubt(), postsInDoubt()...) {
		f.Add([]byte(seed), uint16(0))
	}
	for at := range len(plain) {
		f.Add([]byte(plain+plain), uint16(at))
	}
	for at := range len(post) {
		f.Add([]byte(post+post), uint16(at))
	}
	for _, cut := range []int{-1, 0, 1} {
		f.Add([]byte(plain+plain), uint16(len(plain)+cut))
		f.Add([]byte(plain+post+plain), uint16(len(plain+post)+cut))
		f.Add([]byte(post+post), uint16(len(post)+cut))
	}
	f.Fuzz(func(t *testing.T, requests []byte, at uint16) {
		synctest.Test(t, func(t *testing.T) {
			parts := append(cutInTwo(requests, at), []byte(plain))
			got, want := conversation(t, true, parts...), conversation(t, false, parts...)
			if got != want {
				t.Errorf("%q, cut at %d:\n%s\nby net/http alone:\n%s", requests, at, got, want)
			}
		})
	})
}

func apiForRequests(t *testing.T) *httpapi.API {
	t.Helper()
	now := func() andon.Time { return andon.Time(1e15) }
	memory := memstore.New()
	t.Cleanup(func() {
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	})
	store := wrap.Retain(memory, now)
	return httpapi.New(httpapi.Options{
		Store: store, Intake: intake.New(store, intake.Options{Now: now}), Now: now, Loopback: true,
	})
}
