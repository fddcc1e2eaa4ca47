package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// countedListener counts the reads of one byte below its connections.
type countedListener struct {
	net.Listener
	watches *atomic.Int64
}

type countedConn struct {
	net.Conn
	watches *atomic.Int64
}

func (l countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, l.watches}, err
}

func (c countedConn) Read(p []byte) (int, error) {
	if len(p) == 1 {
		c.watches.Add(1)
	}
	return c.Conn.Read(p)
}

// watchedServer serves by a handler, and counts how often it watched a connection.
func watchedServer(t *testing.T, h http.HandlerFunc) (address string, watches *atomic.Int64) {
	t.Helper()
	watches = new(atomic.Int64)
	counted := func(l net.Listener) net.Listener { return countedListener{l, watches} }
	return serve(t, h, counted), watches
}

// serve serves by a handler until the end of the test.
func serve(t *testing.T, h http.Handler, on func(net.Listener) net.Listener) (address string) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: h, ConnContext: Watched, ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute,
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(Problems(on(l))) }()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	return l.Addr().String()
}

func plainly(l net.Listener) net.Listener { return l }

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestShortRequestsDoNotWatch: many requests on one connection, some with a body and some sent
// before the one before is answered, are answered in order, and none looks whether its client is
// there.
func TestShortRequestsDoNotWatch(t *testing.T) {
	address, watches := watchedServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %v", r.URL.Path, body, err)
	})
	c := dial(t, address)
	answers := bufio.NewReader(c)
	for i := range 20 {
		requests := fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", i)
		requests += fmt.Sprintf("POST /%d HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody", i)
		if _, err := io.WriteString(c, requests); err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{"", "body"} {
			want := fmt.Sprintf("/%d %s <nil>", i, body)
			answer, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(answer.Body); string(got) != want || err != nil {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
			answer.Body.Close()
		}
	}
	if n := watches.Load(); n > 0 {
		t.Errorf("%d connections were watched", n)
	}
}

// TestACallEndsWithItsClient: where someone waits for the end of a call, and where one that takes
// long looks at it now and then, it ends when the client is gone.
func TestACallEndsWithItsClient(t *testing.T) {
	for name, await := range map[string]func(l *lifetime){
		"wait": func(l *lifetime) { <-l.Done() },
		"look": func(l *lifetime) {
			for l.Err() == nil {
				runtime.Gosched()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			begun, ended := make(chan struct{}), make(chan error, 1)
			address, _ := watchedServer(t, func(_ http.ResponseWriter, r *http.Request) {
				now := time.Now()
				l := &lifetime{request: r.Context(), end: now.Add(time.Hour), long: now}
				defer l.stop()
				close(begun)
				await(l)
				ended <- l.Err()
			})
			c := dial(t, address)
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			<-begun
			c.Close()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestAWatchedRequestIsFollowedByOthers: what was read while a request was watched is not lost.
func TestAWatchedRequestIsFollowedByOthers(t *testing.T) {
	var watches *atomic.Int64
	address, counted := watchedServer(t, func(w http.ResponseWriter, r *http.Request) {
		before := watches.Load()
		for watchClient(r.Context(), func() {}); watches.Load() == before; {
			runtime.Gosched()
		}
		fmt.Fprint(w, r.URL.Path)
	})
	watches = counted
	c := dial(t, address)
	answers := bufio.NewReader(c)
	for i := range 50 {
		request := fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", i)
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(answer.Body); string(got) != fmt.Sprintf("/%d", i) || err != nil {
			t.Errorf("%d: %q, %v", i, got, err)
		}
		answer.Body.Close()
	}
}

// TestDeadlinesOfAWatchedConnection: what the client sends while a request watches is read next,
// and deadlines hold then and later.
func TestDeadlinesOfAWatchedConnection(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := &watchedConn{problemConn: &problemConn{deadlineConn{Conn: ours}}}
	defer c.Close()
	room := make([]byte, 10)
	if n, err := c.Read(room[:1]); n > 0 || err != nil {
		t.Fatalf("net/http was told %d, %v", n, err)
	}
	c.watch(func() { t.Error("the client is there") })
	c.watch(func() { t.Error("the client is there") })
	if _, err := theirs.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(room); string(room[:n]) != "a" || err != nil {
		t.Errorf("read %q, %v", room[:n], err)
	}
	c.Read(room[:1])
	c.watch(func() { t.Error("the client is there") })
	for range 2 { // the first ends what watches
		if err := c.SetDeadline(time.Now().Add(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(room); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if _, err := c.Read(room[:1]); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("one byte: %v", err)
		}
	}
}
