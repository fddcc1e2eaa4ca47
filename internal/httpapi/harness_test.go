package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/httpconn"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(bothWays{m}) }

// direct is whether short requests are served below net/http.
var direct bool

// bothWays runs all tests by net/http alone, and then with short requests served below it.
type bothWays struct{ *testing.M }

func (m bothWays) Run() int {
	if code := m.M.Run(); code != 0 || isSet("test.fuzz") || isSet("test.bench") {
		return code
	}
	direct = true
	return m.M.Run()
}

// firstRunOnly skips a test in the second run, where it would do the same again: it
// compares both ways itself, or calls the API without a connection.
func firstRunOnly(t testing.TB) {
	t.Helper()
	if direct {
		t.Skip("done in the first run")
	}
}

func isSet(name string) bool {
	f := flag.Lookup(name)
	return f != nil && f.Value.String() != ""
}

// noon is what the fake clock shows at first.
const noon = "2020-04-24T12:00:00Z"

// world is an API over memstore, served over TCP, with a clock that the test sets.
type world struct {
	testing.TB
	api   *httpapi.API
	store andon.Store
	url   string
	now   atomic.Int64
	ends  *ends
}

// newWorld serves an API; change may change what it is made with.
func newWorld(t testing.TB, change ...func(*httpapi.Options)) *world {
	t.Helper()
	w := &world{TB: t, ends: newEnds()}
	w.setClock(noon)
	now := func() andon.Time { return andon.Time(w.now.Load()) }
	memory := memstore.New()
	w.store = wrap.Retain(memory, now)
	o := httpapi.Options{
		Store: w.store, Intake: intake.New(w.store, intake.Options{Now: now}), Now: now,
		Log:    slog.New(slog.NewTextHandler(t.Output(), nil)),
		Backup: backUpNothing, WrongTokenPause: time.Microsecond,
	}
	for _, f := range change {
		f(&o)
	}
	w.api = httpapi.New(o)
	t.Cleanup(func() {
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	})
	w.url = serve(t, w.ends.count(w.api), direct)
	return w
}

// serve serves over TCP until the end of the test, short requests directly or not.
func serve(t testing.TB, h httpconn.Direct, direct bool) (url string) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	below := h
	if !direct {
		below = nil
	}
	var open sync.WaitGroup // connections
	server := httpconn.New(&http.Server{
		Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
		ConnState: func(c net.Conn, is http.ConnState) {
			if counted, ok := h.(*countedDirect); ok {
				counted.connState(c, is)
			}
			switch is {
			case http.StateNew:
				open.Add(1)
			case http.StateClosed:
				open.Done()
			}
		},
	}, below, httpapi.Unreadable)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		server.Close()
		<-done
		open.Wait()
	})
	return "http://" + l.Addr().String()
}

// backUpNothing is a backup of an empty store.
func backUpNothing(_ context.Context, to io.Writer) error {
	_, err := io.WriteString(to, "nothing")
	return err
}

func (w *world) setClock(text string) {
	w.Helper()
	t, err := andon.ParseTime(text)
	if err != nil {
		w.Fatal(err)
	}
	w.now.Store(int64(t))
}

// answer is what came back.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

// do sends a request; headers are "Name: value".
func (w *world) do(method, path, body string, headers ...string) answer {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Add(name, value)
	}
	return w.send(r)
}

// send sends a request and waits for its end on both sides.
func (w *world) send(r *http.Request) answer {
	w.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	var text []byte
	if response.Header.Get("Content-Type") == "text/event-stream" {
		response.Body.Close() // it has no end
	} else if text, err = io.ReadAll(response.Body); err != nil {
		w.Fatal(err)
	}
	if id := response.Header.Get("X-Request-Id"); id != "" {
		w.ends.await(id)
	}
	return answer{t: w.TB, status: response.StatusCode, header: response.Header, body: string(text)}
}

const base = "/api/v1"

func (w *world) get(path string, headers ...string) answer {
	w.Helper()
	return w.do(http.MethodGet, base+path, "", headers...)
}

func (w *world) post(path, body string, headers ...string) answer {
	w.Helper()
	return w.do(http.MethodPost, base+path, body, headers...)
}

func (w *world) put(path, body string, headers ...string) answer {
	w.Helper()
	return w.do(http.MethodPut, base+path, body, headers...)
}

// event keeps one event.
func (w *world) event(device, at, state string) {
	w.Helper()
	text, _ := json.Marshal(map[string]string{"device": device, "time": at, "state": state})
	w.post("/events", string(text)).is(http.StatusOK)
}

// is checks the status.
func (a answer) is(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// equals checks the status 200 and the JSON of the body.
func (a answer) equals(want string) answer {
	a.t.Helper()
	a.is(http.StatusOK)
	return a.json(want)
}

func (a answer) json(want string) answer {
	a.t.Helper()
	if diff := cmp.Diff(parse(a.t, want), parse(a.t, a.body)); diff != "" {
		a.t.Fatalf("got %s\n%s", a.body, diff)
	}
	return a
}

func parse(t testing.TB, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q is not JSON: %v", text, err)
	}
	return v
}

type problem struct {
	Type      string             `json:"type"`
	Title     string             `json:"title"`
	Status    int                `json:"status"`
	Detail    string             `json:"detail"`
	Errors    []andon.FieldError `json:"errors"`
	RequestID string             `json:"request_id"`
	By        string
}

// fails checks that the answer is a problem with that status, and that it says each of the texts.
func (a answer) fails(status int, texts ...string) problem {
	a.t.Helper()
	a.is(status)
	if kind := a.header.Get("Content-Type"); kind != "application/problem+json" {
		a.t.Fatalf("content type %q: %s", kind, a.body)
	}
	var p problem
	decoder := json.NewDecoder(bytes.NewReader([]byte(a.body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		a.t.Fatalf("%s: %v", a.body, err)
	}
	same := p.RequestID == a.header.Get("X-Request-Id")
	// Without a type of its own, a problem is its status.
	named := p.Title != "" && (p.Type != "" || p.Title == http.StatusText(status))
	if p.Status != status || !named || p.Detail == "" || !same {
		a.t.Fatalf("not a whole problem: %s", a.body)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			a.t.Errorf("%s does not say %q", a.body, text)
		}
	}
	return p
}

// page is a list as it comes.
type page struct {
	Items []map[string]any `json:"items"`
	Next  string           `json:"next"`
}

func (a answer) page() (p page) {
	a.t.Helper()
	a.is(http.StatusOK)
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		a.t.Fatal(err)
	}
	return p
}

// column returns one field of each item.
func (p page) column(name string) []string {
	var all []string
	for _, item := range p.Items {
		text, _ := item[name].(string)
		all = append(all, text)
	}
	return all
}

// ends counts the requests that were served to their end, by their id: what a request does after
// its answer (in the log, among the metrics) is there once it has ended.
type ends struct {
	mu      sync.Mutex
	changed sync.Cond
	served  map[string]int
	awaited map[string]int
}

func newEnds() *ends {
	e := &ends{served: map[string]int{}, awaited: map[string]int{}}
	e.changed.L = &e.mu
	return e
}

// count counts the requests that next serves.
func (e *ends) count(next httpconn.Direct) httpconn.Direct { return counting{next, e} }

type counting struct {
	httpconn.Direct
	*ends
}

func (c counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() { // also after a panic, which cuts the connection
		c.mu.Lock()
		defer c.mu.Unlock()
		c.served[w.Header().Get("X-Request-Id")]++
		c.changed.Broadcast()
	}()
	c.Direct.ServeHTTP(w, r)
}

// await waits for the end of one more request with that id.
func (e *ends) await(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.awaited[id]++; e.served[id] < e.awaited[id]; {
		e.changed.Wait()
	}
}
