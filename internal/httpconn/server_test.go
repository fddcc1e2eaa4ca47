package httpconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestShutdown waits for requests that are served directly, after what it was given to call.
func TestShutdown(t *testing.T) {
	begun, goOn, ending := make(chan struct{}), make(chan struct{}), make(chan struct{})
	newClient, server := serve(t, handler{func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short/wait" {
			begun <- struct{}{}
			<-goOn
		}
		who(w, r)
	}}, &http.Server{})
	server.OnShutdown(func() { close(ending) })
	c := newClient()
	c.get("/short")
	c.send(waits)
	<-begun
	ended := make(chan error, 1)
	go func() { ended <- server.Shutdown(t.Context()) }()
	<-ending
	select {
	case err := <-ended:
		t.Fatalf("a request is being served, and Shutdown returned %v", err)
	case <-time.After(2 * closeDelay):
	}
	close(goOn)
	if _, body, err := c.answer(); !strings.HasPrefix(body, "connection") || err != nil {
		t.Errorf("got %s, %v", body, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestShutdownGivesUp when its context ends.
func TestShutdownGivesUp(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	newClient, server := serve(t, waiting(begun, ended), &http.Server{})
	c := newClient()
	c.get("/short")
	c.send(waits)
	<-begun
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := server.Shutdown(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-ended // its connection was closed
}

// TestAnswersOfAStop end their connection, also one that net/http has read. Otherwise a client that
// asks on and on would be cut off with its next request under way.
func TestAnswersOfAStop(t *testing.T) {
	for before := range 2 { // requests of the connection, of which net/http reads the first
		ending, goOn := make(chan struct{}), make(chan struct{})
		newClient, server := serve(t, handler{who}, &http.Server{})
		server.OnShutdown(func() {
			close(ending)
			<-goOn
		})
		c := newClient()
		for range before {
			c.get("/short")
		}
		ended := make(chan error, 1)
		go func() { ended <- server.Shutdown(t.Context()) }()
		<-ending
		c.get("/short")
		if _, err := c.answers.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("after %d requests: the connection goes on: %v", before, err)
		}
		close(goOn)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestOff: without a Direct handler net/http reads all.
func TestOff(t *testing.T) {
	c := run(t, New(&http.Server{Handler: handler{who}}, nil, nil))()
	for range 3 {
		if got := c.get("/short"); !strings.HasPrefix(got, "net/http") {
			t.Error(got)
		}
	}
}

// TestUnreadable: what net/http can't read is answered as the server wants, after no request,
// one that net/http has read, and one that was served directly. What a handler answers stays.
func TestUnreadable(t *testing.T) {
	h := handler{func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/odd" { // as net/http writes it
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprint(c, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"+
				"Connection: close\r\n\r\n400 Bad Request: of a handler")
			c.Close()
			return
		}
		http.Error(w, "plain", http.StatusTeapot)
	}}
	newClient := run(t, New(&http.Server{Handler: h, MaxHeaderBytes: 1 << 10}, h,
		func(status int, text string) (string, []byte) {
			return "text/odd", fmt.Appendf(nil, "%d %.25s", status, text)
		}))
	with := func(fields string) string { return "GET / HTTP/1.1\r\n" + fields + "\r\n\r\n" }
	const teapot, refused = "418 text/plain; charset=utf-8 plain\n", " text/odd "
	for request, want := range map[string]string{
		"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n": "400" + refused + "400 400 Bad Request",
		with("A: b"):                           "400" + refused + "400 400 Bad Request: missing ",
		with("Host: a\r\nX: " + strings.Repeat("x", 20_000)): "431" + refused +
			"431 431 Request Header Fields",
		"what is this\r\n\r\n": "400" + refused + "400 400 Bad Request",
		with("Host: a"):        teapot,
		"GET /odd HTTP/1.1\r\nHost: a\r\n\r\n": "400 text/plain; charset=utf-8 " +
			"400 Bad Request: of a handler",
	} {
		for before := range 3 {
			c := newClient()
			for range before {
				c.send("GET /short HTTP/1.1\r\nHost: a\r\n\r\n")
				if _, _, err := c.answer(); err != nil {
					t.Fatal(err)
				}
			}
			c.send(request)
			answer, err := http.ReadResponse(c.answers, nil)
			if err != nil {
				t.Fatalf("%.40q: %v", request, err)
			}
			text, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			got := fmt.Sprint(answer.StatusCode, " ", answer.Header.Get("Content-Type"), " ",
				string(text))
			if got != want {
				t.Errorf("%.40q after %d: got %q, want %q", request, before, got, want)
			}
		}
	}
}
