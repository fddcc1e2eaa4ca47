package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/rwlock"
	"github.com/andonhq/andon/internal/store/memstore"
)

// asked is a handler that says who reads its requests, and that answers questions below /short.
type asked struct {
	http.HandlerFunc
	taken rwlock.Lock
}

func (a *asked) beginQuestion(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/short") && a.taken.TryRLock()
}

func (a *asked) endQuestion() { a.taken.RUnlock() }

// who says by whom a request was read, and what it is.
func who(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	by := "net/http"
	if _, ok := w.(*question); ok {
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

// asker is a client in memory.
type asker struct {
	testing.TB
	net.Conn
	answers *bufio.Reader
}

// askers serves by a handler until the end of the test, and makes clients.
func askers(t testing.TB, s *http.Server) (newAsker func() *asker) {
	t.Helper()
	p, done := pipes{make(chan net.Conn)}, make(chan error, 1)
	s.ConnContext = Watched
	go func() { done <- s.Serve(Problems(p)) }()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return func() *asker {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close() })
		p.made <- theirs
		return &asker{t, ours, bufio.NewReader(ours)}
	}
}

// send sends the parts of requests, each by one call, without waiting for answers.
func (a *asker) send(parts ...string) {
	go func() {
		for _, part := range parts {
			if _, err := io.WriteString(a, part); err != nil {
				return // the server had enough
			}
		}
	}()
}

// answer reads the next answer.
func (a *asker) answer() (status int, body string, err error) {
	answer, err := http.ReadResponse(a.answers, nil)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNoContent && answer.Header.Get("Content-Length") != "" {
		a.Error("an answer without a body says its length")
	}
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// get asks and returns the answer.
func (a *asker) get(path string) string {
	a.Helper()
	a.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n")
	status, body, err := a.answer()
	if err != nil || status != http.StatusOK {
		a.Fatalf("%s: %d %s, %v", path, status, body, err)
	}
	return body
}

// TestQuestionsAreAnsweredByTheirConnection: of each connection all but the first, until something
// comes that is no question. Whatever that is, net/http reads it, with all that follows.
func TestQuestionsAreAnsweredByTheirConnection(t *testing.T) {
	newAsker := askers(t, &http.Server{Handler: &asked{HandlerFunc: who}})
	const read, plain = `: GET /short "" <nil>`, "GET /short HTTP/1.1\r\nHost: a\r\n\r\n"
	const byHTTP, byConnection = "net/http" + read, "connection" + read
	const long = "GET /l HTTP/1.1\r\nHost: a\r\n\r\n"
	with := func(header string) string {
		return "GET /short HTTP/1.1\r\nHost: a\r\n" + header + "\r\n\r\n"
	}
	converse(t, newAsker, map[string]conversation{
		"plain":       {[]string{plain}, byConnection, "connection"},
		"keeps":       {[]string{with("connection: Keep-Alive")}, byConnection, "connection"},
		"long":        {[]string{long}, `net/http: GET /l "" <nil>`, "connection"},
		"two at once": {[]string{plain + plain}, byHTTP + "|" + byHTTP, "net/http"},
		"in parts":    {[]string{plain[:20], plain[20:]}, "net/http" + read, "net/http"},
		"then more":   {[]string{plain + "G", plain[1:]}, byHTTP + "|" + byHTTP, "net/http"},
		"large":       {[]string{with("A: " + strings.Repeat("a", netReads))}, byHTTP, "net/http"},
		"empty body":  {[]string{with("Content-Length: 0")}, "net/http" + read, "net/http"},
		"body in a part of its own": {
			[]string{fmt.Sprintf("POST /short HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n",
				len(plain)), plain},
			fmt.Sprintf(`net/http: POST /short %q <nil>`, plain), "net/http",
		},
		"chunks": {
			[]string{with("Transfer-Encoding: chunked"), "4\r\nbody\r\n0\r\n\r\n"},
			`net/http: GET /short "body" <nil>`, "net/http",
		},
		"chunks behind a space": {
			[]string{with("A: b\r\n Transfer-Encoding: chunked")}, byHTTP, "net/http",
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
			byHTTP + "|" + byHTTP, "net/http",
		},
	})
}

// conversation is what a client sends behind its first request, each part by one call.
type conversation struct {
	parts []string
	want  string // the answers
	next  string // who reads the next request; no one: the connection ends
}

func converse(t *testing.T, newAsker func() *asker, all map[string]conversation) {
	t.Helper()
	const read = `: GET /short "" <nil>`
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			a := newAsker()
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
					t.Errorf("behind it: %v", err)
				}
			} else if got := a.get("/short"); got != c.next+read {
				t.Errorf("then: %s", got)
			}
		})
	}
}

// TestPostsAreAnsweredByTheirConnection: where all of the body has come, and where it ends is
// beyond doubt.
func TestPostsAreAnsweredByTheirConnection(t *testing.T) {
	newAsker := askers(t, &http.Server{Handler: &asked{HandlerFunc: who}})
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
	converse(t, newAsker, map[string]conversation{
		"of other lengths": {
			[]string{sized(1, "a"), sized(12, "0123456789ab"), sized(0, ""), sized("02", "cd")},
			answers(conn, "a", "0123456789ab", "", "cd"), conn,
		},
		"in other words": {
			[]string{sized(1, "a"), posted("content-length: 1", "b"), posted("A: b", ""),
				sized("1\r\nA: b", "c")},
			answers(conn, "a", "b", "", "c"), conn,
		},
		"a question":    {[]string{sized(len(plain), plain)}, answers(conn, plain), conn},
		"two at once":   {[]string{sized(1, "a") + sized(1, "b")}, answers(std, "a", "b"), std},
		"in parts":      {[]string{sized(2, "a"), "b"}, answers(std, "ab"), std},
		"then more":     {[]string{sized(1, "a"+sized(1, "b"))}, answers(std, "a", "b"), std},
		"length twice":  {[]string{sized("1\r\nContent-Length: 1", "a")}, answers(std, "a"), std},
		"two lengths":   {[]string{sized("1\r\nContent-Length: 2", "ab")}, "400", ""},
		"no length":     {[]string{sized("", "")}, "400", ""},
		"signed length": {[]string{sized("+1", "a")}, "400", ""},
		"chunks": {
			[]string{posted("Transfer-Encoding: chunked", chunks)}, answers(std, "a"), std,
		},
		"chunks and a length": {
			[]string{sized("1\r\nTransfer-Encoding: chunked", chunks)}, answers(std, "a"), std,
		},
	})
}

// TestAnswersToQuestionsAreWhole: an answer has the length that it says; one that does not, or
// whose handler panics, ends the connection.
func TestAnswersToQuestionsAreWhole(t *testing.T) {
	newAsker := askers(t, &http.Server{Handler: &asked{HandlerFunc: func(
		w http.ResponseWriter, r *http.Request,
	) {
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
	}}})
	for path, want := range map[string]string{
		"nothing": "200  <nil>", "status": "204  <nil>", "parts": "200 abcd <nil>",
		"unsaid": "418 abcd <nil>", "more": "200 ab <nil>",
		"less": "200 ab unexpected EOF", "panic": "200 ab unexpected EOF",
	} {
		a := newAsker()
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

// TestAQuestionEndsWithItsClient: as a call that net/http has read.
func TestAQuestionEndsWithItsClient(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	newAsker := askers(t, &http.Server{Handler: &asked{HandlerFunc: func(
		_ http.ResponseWriter, r *http.Request,
	) {
		if r.URL.Path == "/short" {
			return
		}
		l := &lifetime{request: r.Context(), end: time.Now().Add(time.Hour)}
		defer l.stop()
		close(begun)
		<-l.Done()
		ended <- l.Err()
	}}})
	a := newAsker()
	a.get("/short")
	a.send("GET /short/wait HTTP/1.1\r\nHost: a\r\n\r\n")
	<-begun
	a.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestAQuestionIsWatchedToItsEnd: also beyond the time that its connection could have been idle.
func TestAQuestionIsWatchedToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		handler := &asked{HandlerFunc: func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/short/wait" {
				l := &lifetime{request: r.Context(), end: time.Now().Add(time.Hour)}
				defer l.stop()
				<-l.Done()
				ended <- l.Err()
			}
		}}
		newAsker := askers(t, &http.Server{Handler: handler, IdleTimeout: time.Minute})
		a := newAsker()
		a.get("/short")
		time.Sleep(time.Minute - time.Second)
		a.send("GET /short/wait HTTP/1.1\r\nHost: a\r\n\r\n")
		time.Sleep(time.Minute)
		a.Close()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestIdleConnectionsHoldNoRoom: those that wait for the next request share what a question needs.
func TestIdleConnectionsHoldNoRoom(t *testing.T) {
	rooms := map[http.ResponseWriter]bool{} // in use one after the other
	newAsker := askers(t, &http.Server{Handler: &asked{HandlerFunc: func(
		w http.ResponseWriter, r *http.Request,
	) {
		if q, ok := w.(*question); ok {
			rooms[q] = true
		}
		who(w, r)
	}}})
	const connections = 30
	for range connections {
		a := newAsker()
		a.get("/short")
		a.get("/short")
	}
	if n := len(rooms); n == 0 || n == connections {
		t.Errorf("%d connections hold room for %d questions", connections, n)
	}
}

// TestAWatchedQuestionIsFollowedByOthers: what is read while one watches is not lost, and what
// follows is not taken for a request of its own.
func TestAWatchedQuestionIsFollowedByOthers(t *testing.T) {
	goOn := make(chan struct{})
	newAsker := askers(t, &http.Server{Handler: &asked{HandlerFunc: func(
		w http.ResponseWriter, r *http.Request,
	) {
		if strings.HasSuffix(r.URL.Path, "/watch") {
			watchClient(r.Context(), func() {})
			<-goOn
		}
		who(w, r)
	}}})
	for path, by := range map[string]string{
		"/short/watch": "connection", "/long/watch": "net/http",
	} {
		a := newAsker()
		a.get("/short")
		for _, part := range []string{"GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n", "X"} {
			if _, err := io.WriteString(a, part); err != nil { // it returns once all was read
				t.Fatal(err)
			}
		}
		a.send("GET /short HTTP/1.1\r\nHost: a\r\n\r\n")
		goOn <- struct{}{}
		for _, want := range []string{
			by + ": GET " + path + ` "" <nil>`, `net/http: XGET /short "" <nil>`,
		} {
			if _, body, err := a.answer(); body != want || err != nil {
				t.Errorf("got %s, %v; want %s", body, err, want)
			}
		}
	}
}

// TestWhatIsReadAheadIsAQuestion: where the next request comes while one watches, the first byte of
// it is read before the rest, and the connection answers it all the same.
func TestWhatIsReadAheadIsAQuestion(t *testing.T) {
	begun := make(chan struct{})
	c := dial(t, serve(t, &asked{HandlerFunc: func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/watch") {
			c := r.Context().Value(watchedKey{}).(*watchedConn)
			watchClient(r.Context(), func() {})
			begun <- struct{}{}
			for ahead := false; !ahead; time.Sleep(time.Millisecond) {
				c.mu.Lock()
				ahead = c.ahead
				c.mu.Unlock()
			}
		}
		who(w, r)
	}}, plainly))
	a := &asker{t, c, bufio.NewReader(c)}
	a.get("/short")
	a.send("GET /short/watch HTTP/1.1\r\nHost: a\r\n\r\n")
	<-begun
	a.send("POST /short HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na")
	for _, want := range []string{
		`connection: GET /short/watch "" <nil>`, `connection: POST /short "a" <nil>`,
	} {
		if _, body, err := a.answer(); body != want || err != nil {
			t.Errorf("got %s, %v; want %s", body, err, want)
		}
	}
}

// TestAnEmptyLineEndsABody: old clients send one, and net/http passes over it before the next
// request of the connection.
func TestAnEmptyLineEndsABody(t *testing.T) {
	c := dial(t, serve(t, &asked{HandlerFunc: who}, plainly))
	a := &asker{t, c, bufio.NewReader(c)}
	a.get("/short")
	for _, body := range []string{"a", "b", "c"} {
		a.send("POST /short HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n" + body)
		want := `connection: POST /short "` + body + `" <nil>`
		if _, got, err := a.answer(); got != want || err != nil {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
		a.send("\r\n")
		time.Sleep(10 * time.Millisecond)
	}
}

// TestDeadlinesOfQuestions: a connection is there as long as it asks, and a client that does not
// fetch its answer is not waited for.
func TestDeadlinesOfQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newAsker := askers(t, &http.Server{
			Handler: &asked{HandlerFunc: who}, IdleTimeout: time.Minute, WriteTimeout: time.Hour,
		})
		a := newAsker()
		for range 5 {
			a.get("/short")
			time.Sleep(time.Minute - time.Second)
		}
		time.Sleep(2 * time.Second)
		if _, err := a.answers.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("a connection that asks no more: %v", err)
		}
		a = newAsker()
		a.get("/short")
		a.send("GET /short HTTP/1.1\r\nHost: a\r\n\r\n")
		time.Sleep(time.Hour + time.Second)
		if _, err := a.answers.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("an answer that was not fetched: %v", err)
		}
	})
}

// ofAPI takes questions as an API does.
type ofAPI struct {
	*API
	serve http.HandlerFunc
}

func (a ofAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.serve(w, r) }

// TestEndQuestions: it waits for those that are being answered, and then net/http reads all.
func TestEndQuestions(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	api := &API{}
	newAsker := askers(t, &http.Server{Handler: ofAPI{api, func(
		w http.ResponseWriter, r *http.Request,
	) {
		if r.URL.Path == basePath+"/wait" {
			begun <- struct{}{}
			<-goOn
		}
		who(w, r)
	}}})
	a := newAsker()
	a.get(basePath + "/first")
	a.send("GET " + basePath + "/wait HTTP/1.1\r\nHost: a\r\n\r\n")
	<-begun
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := api.EndQuestions(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("while one is answered: %v", err)
	}
	close(goOn)
	if _, body, err := a.answer(); !strings.HasPrefix(body, "connection") || err != nil {
		t.Errorf("got %s, %v", body, err)
	}
	if err := api.EndQuestions(t.Context()); err != nil {
		t.Error(err)
	}
	if got := a.get(basePath + "/last"); !strings.HasPrefix(got, "net/http") {
		t.Errorf("then %s", got)
	}
}

// TestAnswersOfAStopEndTheirConnection: by whom the request is read, and also where there is
// nothing. Else a client that asks on and on would be cut off with its next request under way.
func TestAnswersOfAStopEndTheirConnection(t *testing.T) {
	for _, c := range []struct {
		path   string
		before int // questions of the connection, of which net/http reads the first
		status int
	}{
		{"/states", 0, http.StatusOK}, {"/states", 1, http.StatusOK},
		{"/nothing", 0, http.StatusNotFound}, {"/nothing", 1, http.StatusNotFound},
	} {
		store := memstore.New()
		now := func() andon.Time { return andon.MinTime }
		api := New(Options{
			Store: store, Now: now, Intake: intake.New(store, intake.Options{Now: now}),
		})
		a := askers(t, &http.Server{Handler: api})()
		ask := func(path string, want int) {
			t.Helper()
			a.send("GET " + basePath + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if status, body, err := a.answer(); status != want || err != nil {
				t.Errorf("%s: %d %s, %v", path, status, body, err)
			}
		}
		for range c.before {
			ask("/states", http.StatusOK)
		}
		api.EndLong()
		ask(c.path, c.status)
		a.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if status, _, err := a.answer(); err == nil {
			t.Errorf("%s behind %d questions: the next gets %d", c.path, c.before, status)
		}
	}
}

// TestLongQuestionsAreKnown: those that may take long are told apart by their whole path, or by
// what the client accepts.
func TestLongQuestionsAreKnown(t *testing.T) {
	a := &API{long: []string{basePath + "/events/stream"}}
	for text, want := range map[string]bool{
		"/api/v1/states": true, "/api/v1/events/stream": false, "/metrics": false,
		"/api/v1/events Accept:" + typeNDJSON: false,
	} {
		path, accepts, _ := strings.Cut(text, " Accept:")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accepts)
		if got := a.beginQuestion(r); got != want {
			t.Errorf("%s: %v", text, got)
		} else if got {
			a.endQuestion()
		}
	}
}
