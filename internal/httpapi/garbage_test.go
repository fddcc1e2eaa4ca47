package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/andonhq/andon"
)

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// serve hands a request to the API directly: a client of net/http would not send some of these.
func (w *world) serve(t *testing.T, r *http.Request) answer {
	t.Helper()
	recorder := httptest.NewRecorder()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	*r = *r.WithContext(ctx) // r itself, whose pattern the mux sets
	w.api.ServeHTTP(&leaving{recorder, stop}, r)
	return answer{
		t: t, status: recorder.Code, header: recorder.Header(), body: recorder.Body.String(),
	}
}

// leaving is a client that is gone once it has the first part of a stream.
type leaving struct {
	*httptest.ResponseRecorder
	leave func()
}

// Flush implements http.Flusher.
func (l *leaving) Flush() { l.leave() }

// check is what holds for every answer to whatever is sent.
func (a answer) check(r *http.Request) {
	a.t.Helper()
	if a.status >= 500 || a.status == 422 || a.status < 200 {
		a.t.Errorf("%s %s: %d %s", r.Method, r.URL, a.status, a.body)
	}
	if a.status >= 400 && a.header.Get("Content-Type") != "application/problem+json" {
		a.t.Errorf("%s %s: %d without a problem: %s", r.Method, r.URL, a.status, a.body)
	}
	if a.status >= 300 && a.status < 400 {
		a.t.Errorf("%s %s: redirected to %s", r.Method, r.URL, a.header.Get("Location"))
	}
}

func TestSerialGarbageAtEveryRoute(t *testing.T) {
	firstRunOnly(t)
	w := newWorld(t)
	w.fill()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := garbage{rand.New(rand.NewPCG(seed, 0))}
	for name, op := range operations(w.document()) {
		method, path, _ := strings.Cut(name, " ")
		for range rounds(path) {
			r := g.request(method, path, op)
			got := w.serve(t, r)
			got.check(r)
			if r.Pattern != "" { // with "." for an identifier it is another path
				got.isDocumented(name, op)
			}
		}
	}
	w.get("/states").is(http.StatusOK)
}

// rounds is how often a path is asked; those whose answers are large and always the same, seldom.
func rounds(path string) int {
	switch {
	case path == "/openapi.json" || path == "/docs":
		return 3
	case testing.Short():
		return 30
	}
	return 300
}

// isDocumented checks that the document knows the status of an answer.
func (a answer) isDocumented(name string, op object) {
	a.t.Helper()
	if op["responses"].(object)[strconv.Itoa(a.status)] == nil {
		a.t.Errorf("%s answers %d, which is not documented: %s", name, a.status, a.body)
	}
}

// garbage makes requests that are wrong in many ways, and some that are not.
type garbage struct{ *rand.Rand }

func (g garbage) request(method, path string, op object) *http.Request {
	for i := strings.IndexByte(path, '{'); i >= 0; i = strings.IndexByte(path, '{') {
		end := strings.IndexByte(path, '}')
		path = path[:i] + url.PathEscape(g.text()) + path[end+1:]
	}
	query := url.Values{}
	params, _ := op["parameters"].([]any)
	for _, p := range params {
		if name := p.(object)["name"].(string); p.(object)["in"] == "query" && g.IntN(3) == 0 {
			query.Add(name, g.text())
		}
	}
	if g.IntN(20) == 0 {
		query.Add(g.text(), g.text())
	}
	target := &url.URL{Scheme: "http", Host: "localhost", RawQuery: query.Encode()}
	target.Path, _ = url.PathUnescape(path)
	target.RawPath = path
	body := g.body()
	r := &http.Request{
		Method: method, URL: target, Host: "localhost",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody,
	}
	if body != "" {
		r.Body, r.ContentLength = readCloser{bytes.NewReader([]byte(body))}, int64(len(body))
	}
	for _, name := range []string{
		"Content-Type", "Content-Encoding", "Andon-Tenant", "X-Request-Id",
	} {
		if g.IntN(8) == 0 {
			r.Header.Set(name, g.text())
		}
	}
	return r
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

var pieces = []string{
	"d0", "d1", "Liz", "Sara", "NORMAL", "WARNING*", "*", ",", ".", "..", "/", "%", "%2F", "#",
	"?", " ", "\x00", "\xff", "\u0085", "🚨", "2020-04-24", "2020-04-24T10:00:00Z", "99999-01-01",
	"-1", "0", "1", "1000", "1001", "NaN", "1e999", "asc", "desc", "since", "default", "gzip",
	"zstd", "null", "ns", "application/x-ndjson", "application/json", "AbVn3", "\n", "\"", "{",
	"}", "[", "]", ":", "01",
}

func (g garbage) text() string {
	var b strings.Builder
	for range 1 + g.IntN(3)*g.IntN(3) {
		if b.WriteString(pieces[g.IntN(len(pieces))]); g.IntN(200) == 0 {
			b.WriteString(strings.Repeat("x", 200))
		}
	}
	return b.String()
}

var names = []string{
	"device", "time", "state", "operator", "message", "attributes", "escalated_to", "metrics",
	"metadata", "to", "by", "note", "devices", "retention", "events", "readings", "max_future",
	"silent_after", "states", "name", "severity", "letter", "colour", "symbol", "tenant",
}

func (g garbage) body() string {
	switch g.IntN(6) {
	case 0:
		return ""
	case 1:
		return g.text()
	case 2:
		return strings.Repeat("[", 10_000)
	}
	text, err := json.Marshal(g.value(0))
	if err != nil {
		panic(err)
	}
	if g.IntN(4) == 0 {
		text = text[:g.IntN(len(text)+1)]
	}
	return string(text)
}

func (g garbage) value(depth int) any {
	switch n := g.IntN(8); {
	case n < 4 && depth < 4 || depth == 0:
		fields := map[string]any{}
		for range g.IntN(6) {
			fields[names[g.IntN(len(names))]] = g.value(depth + 1)
		}
		return fields
	case n == 4:
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.value(depth+1))
		}
		return list
	case n == 5:
		return g.NormFloat64() * 1e6
	case n == 6:
		return g.IntN(2) == 0
	}
	return g.text()
}

// FuzzQuery asks for events with a query of anything.
func FuzzQuery(f *testing.F) {
	firstRunOnly(f)
	cursor := andon.EncodeCursor("x", andon.EventKey{})
	for _, seed := range []string{
		"", "limit=1&order=asc", "state=WARNING*&from=2020-04-24&to=2020-04-25", "cursor=" + cursor,
		"a;b", "%zz", "=&=&", "date=2020-04-24", "from=2020-04-24T10:00:00+01:00",
		"limit=1&limit=2",
	} {
		f.Add(seed)
	}
	w := newWorld(f)
	w.fill()
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{
			"/supervisors/Sara/events", "/devices", "/devices/d0/intervals",
		} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
			r.URL.RawQuery = query
			got := w.serve(t, r)
			got.check(r)
			if got.status == http.StatusOK && len(got.page().Items) > andon.MaxLimit {
				t.Error("more than a page")
			}
		}
	})
}

// FuzzCursor follows a cursor that was made for this very query, with any position in it, as a
// reader of the source can make one.
func FuzzCursor(f *testing.F) {
	firstRunOnly(f)
	for _, seed := range []string{
		`{}`, `{"Time":"2020-04-24T10:05:00Z","Severity":32,"State":"WARNING1","Device":"d1"}`,
		`[]`, `null`, `{"Time":null,"Severity":-1}`, `{"Device":"\u0000"}`, `"x"`,
	} {
		f.Add(seed)
	}
	w := newWorld(f)
	w.fill()
	f.Fuzz(func(t *testing.T, position string) {
		if !json.Valid([]byte(position)) {
			return
		}
		scope := "GET /api/v1/operators/{operator}/events\ndefault\nLiz\n"
		cursor := andon.EncodeCursor(scope, json.RawMessage(position))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet,
			base+"/operators/Liz/events?cursor="+cursor, nil)
		got := w.serve(t, r)
		got.check(r)
		if strings.Contains(got.body, "another query") {
			t.Error("the scope is not what this test thinks")
		}
	})
}
