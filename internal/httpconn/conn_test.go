package httpconn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// handler says who has read its requests. Those below /short are served directly.
type handler struct{ http.HandlerFunc }

func (handler) Take(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/short") }

// who says by whom a request was read, and what it is.
func who(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	by := "net/http"
	if _, ok := w.(*response); ok {
		by = "connection"
	}
	fmt.Fprintf(w, "%s: %s %s %q %v", by, r.Method, r.URL.Path, body, err)
}

// pipes is a listener whose connections are in memory: what is written by one call, and no more, is
// read by one.
type pipes struct{ made chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.made
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error {
	close(p.made)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// client is a client in memory.
type client struct {
	testing.TB
	net.Conn
	answers *bufio.Reader
	idle    func() bool // net/http waits for the next request, or the connection is closed
}

// serve serves until the end of the test, and makes clients.
func serve(t testing.TB, h handler, s *http.Server) (newClient func() *client, server *Server) {
	t.Helper()
	s.Handler = h
	server = New(s, h, nil)
	return run(t, server), server
}

// run serves until the end of the test.
func run(t testing.TB, server *Server) (newClient func() *client) {
	t.Helper()
	p, done := pipes{make(chan net.Conn)}, make(chan error, 1)
	var states sync.Map     // by connection
	var open sync.WaitGroup // net/http waits for a client whose header is too large
	note := server.http.ConnState
	server.http.ConnState = func(c net.Conn, is http.ConnState) {
		note(c, is)
		states.Store(c.(*conn).Conn, is)
		switch is {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed, http.StateHijacked:
			open.Done()
		}
	}
	go func() { done <- server.Serve(p) }()
	t.Cleanup(func() {
		server.Close()
		<-done
		open.Wait()
	})
	return func() *client {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close() })
		p.made <- theirs
		return &client{t, ours, bufio.NewReader(ours), func() bool {
			is, _ := states.Load(theirs)
			return is != http.StateActive
		}}
	}
}

// send sends the parts of requests, each by one call, without waiting for answers. net/http watches
// a connection until it is idle again, and that may read what comes before.
func (c *client) send(parts ...string) {
	for !c.idle() {
		runtime.Gosched()
	}
	go func() {
		for _, part := range parts {
			if _, err := io.WriteString(c, part); err != nil {
				return // the server had enough
			}
		}
	}()
}

// answer reads the next answer.
func (c *client) answer() (status int, body string, err error) {
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNoContent && answer.Header.Get("Content-Length") != "" {
		c.Error("an answer without a body says its length")
	}
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// get asks and returns the answer.
func (c *client) get(path string) string {
	c.Helper()
	c.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n")
	status, body, err := c.answer()
	if err != nil || status != http.StatusOK {
		c.Fatalf("%s: %d %s, %v", path, status, body, err)
	}
	return body
}

// TestDirectGets: all but the first request of a connection are served directly, unless one is not
// of the plainest form. Whatever that is, net/http reads it, with all that comes together with it.
func TestDirectGets(t *testing.T) {
	newClient, _ := serve(t, handler{who}, &http.Server{})
	const read, plain = `: GET /short "" <nil>`, "GET /short HTTP/1.1\r\nHost: a\r\n\r\n"
	const byHTTP, byConnection = "net/http" + read, "connection" + read
	const long = "GET /l HTTP/1.1\r\nHost: a\r\n\r\n"
	with := func(header string) string {
		return "GET /short HTTP/1.1\r\nHost: a\r\n" + header + "\r\n\r\n"
	}
	converse(t, newClient, map[string]conversation{
		"plain":       {[]string{plain}, byConnection, "connection"},
		"keeps":       {[]string{with("connection: Keep-Alive")}, byConnection, "connection"},
		"long":        {[]string{long}, `net/http: GET /l "" <nil>`, "connection"},
		"two at once": {[]string{plain + plain}, byHTTP + "|" + byHTTP, "connection"},
		"in parts":    {[]string{plain[:20], plain[20:]}, "net/http" + read, "connection"},
		"then more":   {[]string{plain + "G", plain[1:]}, byHTTP + "|" + byHTTP, "connection"},
		"large":       {[]string{with("A: " + strings.Repeat("a", 4096))}, byHTTP, "connection"},
		"empty body":  {[]string{with("Content-Length: 0")}, "net/http" + read, "connection"},
		"body in a part of its own": {
			[]string{fmt.Sprintf("POST /short HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n",
				len(plain)), plain},
			fmt.Sprintf(`net/http: POST /short %q <nil>`, plain), "connection",
		},
		"chunks": {
			[]string{with("Transfer-Encoding: chunked"), "4\r\nbody\r\n0\r\n\r\n"},
			`net/http: GET /short "body" <nil>`, "connection",
		},
		"chunks after a space": {
			[]string{with("A: b\r\n Transfer-Encoding: chunked")}, byHTTP, "connection",
		},
		"expects":      {[]string{with("Expect: something")}, "417", ""},
		"ends":         {[]string{with("Connection: close")}, byHTTP, ""},
		"before 1.1":   {[]string{"GET /short HTTP/1.0\r\nHost: a\r\n\r\n"}, byHTTP, ""},
		"no host":      {[]string{"GET /short HTTP/1.1\r\n\r\n"}, "400", ""},
		"two hosts":    {[]string{with("Host: b")}, "400", ""},
		"strange host": {[]string{"GET /short HTTP/1.1\r\nHost: a b\r\n\r\n"}, "400", ""},
		"no version":   {[]string{"GET /short\r\nHost: a\r\n\r\n"}, "400", ""},
		"no name":      {[]string{with(": b")}, "400", ""},
		"control":      {[]string{with("A: \x01")}, "400", ""},
		"lines that end with \\n alone": {
			[]string{"GET /short HTTP/1.1\nHost: a\n\nGET /short HTTP/1.1\r\nHost: b\r\n\r\n"},
			byHTTP + "|" + byHTTP, "connection",
		},
	})
}

// conversation is what a client sends after its first request, each part by one call.
type conversation struct {
	parts []string
	want  string // the answers
	next  string // who reads the next request; no one: the connection ends
}

func converse(t *testing.T, newClient func() *client, all map[string]conversation) {
	t.Helper()
	const read = `: GET /short "" <nil>`
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			a := newClient()
			a.TB = t
			if got := a.get("/short"); got != "net/http"+read {
				t.Fatalf("the first request: %s", got)
			}
			a.send(c.parts...)
			for want := range strings.SplitSeq(c.want, "|") {
				status, body, err := a.answer()
				if got := fmt.Sprint(status); body != want && got != want || err != nil {
					t.Errorf("got %s %s, %v; want %s", got, body, err, want)
				}
			}
			if c.next == "" {
				if _, err := a.answers.ReadByte(); !errors.Is(err, io.EOF) {
					t.Errorf("after it: %v", err)
				}
			} else if got := a.get("/short"); got != c.next+read {
				t.Errorf("then: %s", got)
			}
		})
	}
}

// TestDirectPosts: a post is served directly if all of its body has come, and it is certain where
// that ends.
func TestDirectPosts(t *testing.T) {
	newClient, _ := serve(t, handler{who}, &http.Server{})
	const plain = "GET /short HTTP/1.1\r\nHost: a\r\n\r\n"
	posted := func(header, body string) string {
		return "POST /short HTTP/1.1\r\nHost: a\r\n" + header + "\r\n\r\n" + body
	}
	sized := func(length any, body string) string {
		return posted(fmt.Sprint("Content-Length: ", length), body)
	}
	answers := func(by string, bodies ...string) string {
		for i, body := range bodies {
			bodies[i] = fmt.Sprintf("%s: POST /short %q <nil>", by, body)
		}
		return strings.Join(bodies, "|")
	}
	const conn, std, chunks = "connection", "net/http", "1\r\na\r\n0\r\n\r\n"
	converse(t, newClient, map[string]conversation{
		"of other lengths": {
			[]string{sized(1, "a"), sized(12, "0123456789ab"), sized(0, ""), sized("02", "cd")},
			answers(conn, "a", "0123456789ab", "", "cd"), conn,
		},
		"in other words": {
			[]string{sized(1, "a"), posted("content-length: 1", "b"), posted("A: b", ""),
				sized("1\r\nA: b", "c")},
			answers(conn, "a", "b", "", "c"), conn,
		},
		"a request":     {[]string{sized(len(plain), plain)}, answers(conn, plain), conn},
		"two at once":   {[]string{sized(1, "a") + sized(1, "b")}, answers(std, "a", "b"), conn},
		"in parts":      {[]string{sized(2, "a"), "b"}, answers(std, "ab"), conn},
		"then more":     {[]string{sized(1, "a"+sized(1, "b"))}, answers(std, "a", "b"), conn},
		"length twice":  {[]string{sized("1\r\nContent-Length: 1", "a")}, answers(std, "a"), conn},
		"two lengths":   {[]string{sized("1\r\nContent-Length: 2", "ab")}, "400", ""},
		"no length":     {[]string{sized("", "")}, "400", ""},
		"signed length": {[]string{sized("+1", "a")}, "400", ""},
		"chunks": {
			[]string{posted("Transfer-Encoding: chunked", chunks)}, answers(std, "a"), conn,
		},
		"chunks and a length": {
			[]string{sized("1\r\nTransfer-Encoding: chunked", chunks)}, answers(std, "a"), conn,
		},
	})
}

// TestAnswers: an answer has the length that it says; one that does not, or whose handler panics,
// ends the connection.
func TestAnswers(t *testing.T) {
	newClient, _ := serve(t, handler{func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/short/status":
			w.WriteHeader(http.StatusNoContent)
		case "/short/parts":
			w.Header().Set("Content-Length", "4")
			_, _ = io.WriteString(w, "ab")
			_, _ = io.WriteString(w, "cd")
		case "/short/unsaid":
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "ab")
			_, _ = io.WriteString(w, "cd")
		case "/short/more":
			w.Header().Set("Content-Length", "2")
			_, _ = io.WriteString(w, "ab")
			if _, err := io.WriteString(w, "c"); !errors.Is(err, http.ErrContentLength) {
				t.Errorf("more than was said: %v", err)
			}
		case "/short/less":
			w.Header().Set("Content-Length", "3")
			_, _ = io.WriteString(w, "ab")
		case "/short/panic":
			w.Header().Set("Content-Length", "3")
			_, _ = io.WriteString(w, "ab")
			panic(http.ErrAbortHandler)
		}
	}}, &http.Server{})
	for path, want := range map[string]string{
		"nothing": "200  <nil>", "status": "204  <nil>", "parts": "200 abcd <nil>",
		"unsaid": "418 abcd <nil>", "more": "200 ab <nil>",
		"less": "200 ab unexpected EOF", "panic": "200 ab unexpected EOF",
	} {
		a := newClient()
		a.get("/short/first")
		a.send("GET /short/" + path + " HTTP/1.1\r\nHost: a\r\n\r\n")
		status, body, err := a.answer()
		if got := fmt.Sprint(status, " ", body, " ", err); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		} else if err == nil {
			a.get("/short/next")
		}
	}
}

// waiting is a handler that waits below /short/wait until its request's context ends.
func waiting(begun chan<- struct{}, ended chan<- error) handler {
	return handler{func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short/wait" {
			begun <- struct{}{}
			<-r.Context().Done()
			ended <- r.Context().Err()
		}
	}}
}

const waits = "GET /short/wait HTTP/1.1\r\nHost: a\r\n\r\n"

// TestContextEndsWithClient: the context of a request ends when its client leaves, also after the
// time that the connection could have been idle.
func TestContextEndsWithClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, ended := make(chan struct{}, 1), make(chan error, 1)
		newClient, _ := serve(t, waiting(begun, ended), &http.Server{IdleTimeout: time.Minute})
		c := newClient()
		c.get("/short")
		time.Sleep(time.Minute - time.Second)
		c.send(waits)
		<-begun
		time.Sleep(time.Hour)
		if len(ended) > 0 {
			t.Fatal("the context has ended, and the client is there")
		}
		c.Close()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestContextEndsWithRequest: each request has a context, a header and an address of its own. The
// context ends with the request, and what is changed is not seen by the next request.
func TestContextEndsWithRequest(t *testing.T) {
	var kept []*http.Request
	newClient, _ := serve(t, handler{func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/l" {
			return
		}
		if r.Context().Err() != nil || r.Header.Get("A") != "" || r.URL.Path != "/short" {
			t.Errorf("%v, %v, %s", r.Context().Err(), r.Header, r.URL)
		}
		r.Header.Set("A", "b")
		r.Header["User-Agent"][0] = "changed"
		r.URL.Path = "/changed"
		kept = append(kept, r)
	}}, &http.Server{})
	c := newClient()
	for range 4 {
		c.send("GET /short HTTP/1.1\r\nHost: a\r\nUser-Agent: a\r\n\r\n")
		if _, _, err := c.answer(); err != nil {
			t.Fatal(err)
		}
	}
	c.get("/l") // after which the last one has ended
	for i, r := range kept[:4] {
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
			t.Errorf("the context of request %d goes on", i)
		}
	}
}

// TestReadAhead: what is read while a request waits for its client to leave is not lost, and what
// follows is not taken for a request of its own.
func TestReadAhead(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	newClient, _ := serve(t, handler{func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/watch") {
			r.Context().Done()
			<-begun
			time.Sleep(10 * time.Millisecond) // or the next request comes whole
			<-goOn
		}
		who(w, r)
	}}, &http.Server{})
	const next = "POST /short HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na"
	for _, c := range []struct{ path, ahead, rest, want string }{
		{"/short/watch", next[:1], next[1:], `connection: POST /short "a" <nil>`},
		{"/short/watch", "X", next, `net/http: XPOST /short "a" <nil>`},
		{"/long/watch", "X", next, `net/http: XPOST /short "a" <nil>`},
	} {
		client := newClient()
		client.get("/short")
		client.send("GET "+c.path+" HTTP/1.1\r\nHost: a\r\n\r\n", c.ahead, c.rest)
		begun <- struct{}{}
		goOn <- struct{}{}
		for _, want := range []string{`: GET ` + c.path + ` "" <nil>`, c.want} {
			if _, body, err := client.answer(); !strings.HasSuffix(body, want) || err != nil {
				t.Errorf("got %s, %v; want %s", body, err, want)
			}
		}
	}
}

// TestEmptyLineAfterBody: old clients send one, and net/http passes over it before the next request
// of the connection.
func TestEmptyLineAfterBody(t *testing.T) {
	newClient, _ := serve(t, handler{who}, &http.Server{})
	c := newClient()
	c.get("/short")
	for _, body := range []string{"a", "b", "c"} {
		c.send("POST /short HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n" + body)
		want := `connection: POST /short "` + body + `" <nil>`
		if _, got, err := c.answer(); got != want || err != nil {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
		if _, err := io.WriteString(c, "\r\n"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRequestsThatComeTogether: what follows the first of them in the same packet is net/http's,
// and so is all that belongs to it, however much that looks like a request.
func TestRequestsThatComeTogether(t *testing.T) {
	const first = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
	const inside = "GET /short/inside HTTP/1.1\r\nHost: a\r\n\r\n"
	for name, test := range map[string]struct {
		second, rest string
		status       int
		body         string
	}{
		"body": {
			fmt.Sprintf("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", len(inside)),
			inside, http.StatusOK, fmt.Sprintf("net/http: POST /b %q <nil>", inside),
		},
		"head": {
			"GET /b HTTP/1.1\r\n", inside, http.StatusBadRequest, "400 Bad Request",
		},
		"head of the simplest form": {
			"GET /short/b HTTP/1.1\r\nHost: a\r\n", "\r\n", http.StatusOK,
			`net/http: GET /short/b "" <nil>`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			newClient, _ := serve(t, handler{who}, &http.Server{})
			c := newClient()
			c.send(first + test.second)
			if _, got, err := c.answer(); err != nil || got != `net/http: GET /a "" <nil>` {
				t.Fatalf("the first is answered %s, %v", got, err)
			}
			if _, err := io.WriteString(c, test.rest); err != nil {
				t.Fatal(err)
			}
			if status, got, err := c.answer(); err != nil || status != test.status ||
				got != test.body {
				t.Errorf("got %d %s, %v; want %d %s", status, got, err, test.status, test.body)
			}
		})
	}
}

// TestDeadlinesWhileWatched: a handler sets deadlines while net/http reads in another goroutine, to
// see whether the client leaves. The race detector looks on.
func TestDeadlinesWhileWatched(t *testing.T) {
	newClient, _ := serve(t, handler{func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		for range 10 {
			if err := control.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Error(err)
			}
			runtime.Gosched()
		}
		who(w, r)
	}}, &http.Server{})
	for range 20 {
		c := newClient()
		for range 5 {
			if got := c.get("/long"); got != `net/http: GET /long "" <nil>` {
				t.Errorf("got %s", got)
			}
		}
	}
}

// TestDeadlines: a connection is kept as long as requests come, and a client that does not fetch
// its answer is not waited for.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newClient, _ := serve(t, handler{who},
			&http.Server{IdleTimeout: time.Minute, WriteTimeout: time.Hour})
		c := newClient()
		for range 5 {
			c.get("/short")
			time.Sleep(time.Minute - 5*time.Second)
		}
		time.Sleep(6 * time.Second)
		if _, err := c.answers.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("a connection on which nothing comes: %v", err)
		}
		for range 2 { // the deadline of the first does not hold for the second
			c = newClient()
			c.get("/short")
			c.get("/short")
			time.Sleep(time.Minute - 5*time.Second)
			c.send("GET /short HTTP/1.1\r\nHost: a\r\n\r\n")
			time.Sleep(50 * time.Minute)
			if _, body, err := c.answer(); err != nil {
				t.Errorf("an answer that was fetched late: %s, %v", body, err)
			}
			c.send("GET /short HTTP/1.1\r\nHost: a\r\n\r\n")
			time.Sleep(time.Hour + time.Second)
			if _, err := c.answers.ReadByte(); !errors.Is(err, io.EOF) {
				t.Errorf("an answer that was not fetched: %v", err)
			}
		}
	})
}
