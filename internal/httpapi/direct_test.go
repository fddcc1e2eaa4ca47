package httpapi_test

import (
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/httpconn"
)

// countedDirect counts the requests that are served directly: they can't be flushed.
type countedDirect struct {
	httpconn.Direct
	n int

	mu      sync.Mutex
	changed sync.Cond
	busy    map[net.Conn]bool // with net/http
}

func (c *countedDirect) connState(of net.Conn, is http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.busy, of); is == http.StateActive {
		c.busy[of] = true
	}
	c.changed.Broadcast()
}

// awaitIdle waits until net/http has no request: a client has its answer a moment earlier, and only
// what comes to an idle connection is served directly.
func (c *countedDirect) awaitIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.busy) > 0 {
		c.changed.Wait()
	}
}

func (c *countedDirect) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, ok := w.(http.Flusher); !ok {
		c.n++
	}
	c.Direct.ServeHTTP(w, r)
}

// twoWays are two servers with the same contents.
type twoWays struct {
	*world
	other   *world // which serves short requests directly
	counted *countedDirect
	asked   int
}

func newTwoWays(t *testing.T) *twoWays {
	t.Helper()
	quiet := func(o *httpapi.Options) { o.Log = nil }
	w := &twoWays{world: newWorld(t, quiet), other: newWorld(t, quiet)}
	w.counted = &countedDirect{
		Direct: w.other.ends.count(w.other.api), busy: map[net.Conn]bool{},
	}
	w.counted.changed.L = &w.counted.mu
	w.url = serve(t, w.ends.count(w.api), false)
	w.other.url = serve(t, w.counted, true)
	for _, one := range []*world{w.world, w.other} {
		one.fill()
	}
	return w
}

var (
	anyPosition = regexp.MustCompile(`"[0-9a-z]{4,13}-[0-9a-z]+(-[0-9a-z]+)?"`)
	anyID       = regexp.MustCompile(`"request_id":"[^"]*"`)
)

// text is an answer without what differs each time.
func (a answer) text() string {
	for _, name := range []string{"Date", "X-Request-Id"} {
		if a.header.Get(name) == "" {
			a.t.Errorf("no %s", name)
		}
		a.header.Del(name)
	}
	body := anyID.ReplaceAllString(anyPosition.ReplaceAllString(a.body, "position"), "id")
	if body != a.body || body == "" {
		a.header.Del("Content-Length")
	}
	return fmt.Sprint(a.status, a.header, body)
}

// ask sends a request to both servers and compares the answers.
func (w *twoWays) ask(method, path, body string, headers ...string) {
	w.Helper()
	w.asked++
	want := w.do(method, path, body, headers...).text()
	w.counted.awaitIdle()
	if got := w.other.do(method, path, body, headers...).text(); got != want {
		w.Errorf("%s %s %s %v:\n%s\nby net/http:\n%s", method, path, body, headers, got, want)
	}
}

// TestSerialBothWays: each answer is the same, served directly or not.
func TestSerialBothWays(t *testing.T) {
	firstRunOnly(t)
	w := newTwoWays(t)
	names := strings.NewReplacer("{device}", "press-7", "{operator}", "Liz", "{supervisor}", "Sara",
		"{tenant}", "default", "{metric}", "temperature", "{time}", "2020-04-24T10:00:00Z",
		"{state}", "WARNING1")
	for name := range operations(w.document()) {
		method, path, _ := strings.Cut(name, " ")
		path = names.Replace(path)
		if path == "/metrics" || path == "/api/v1/events/stream" {
			continue // one counts the requests, the other has no end
		}
		if method == http.MethodGet {
			for _, query := range []string{
				"", "?limit=1", "?limit=x", "?order=asc", "?from=2020-04-24&to=now", "?state=WARN*",
				"?a=b", "?%zz", "?limit=1&limit=2", "?explain=true", "?cursor=x",
				"?date=2020-04-24",
			} {
				w.ask(method, path+query, "")
			}
			w.ask(method, path, "", "Andon-Tenant: none")
			w.ask(method, path, "", "Accept: application/x-ndjson")
			w.ask(method, path, "", "Accept-Encoding: gzip", "Origin: http://evil.example")
		}
		for _, body := range []string{
			"", "{}", "[]", `{"device":"d","state":"NORMAL"}`, "{", "\xff",
		} {
			if method == http.MethodPost || method == http.MethodPut {
				w.ask(method, path, body, "Content-Type: application/json")
				w.ask(method, path, body, "Content-Type: text/plain")
				w.ask(method, path, body, "Content-Encoding: gzip")
			}
		}
		for _, other := range []string{http.MethodHead, http.MethodPatch, http.MethodOptions} {
			w.ask(other, path, "")
		}
	}
	for _, path := range []string{
		"/api/v1/nothing", "/api/v1/devices/a%2Fb", "/api/v1/devices/%2F", "/api/v1//devices",
		"/api/v1/../devices", "/api/v1/devices/", "/", "/nothing", "/api/v1/states#a",
	} {
		w.ask(http.MethodGet, path, "")
	}
	if w.counted.n < w.asked/2 {
		t.Errorf("only %d of %d requests were served directly", w.counted.n, w.asked)
	}
}
