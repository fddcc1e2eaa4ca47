package httpapi

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/problem"
)

// exchange is one request and its answer: a ResponseWriter that remembers what was sent.
type exchange struct {
	http.ResponseWriter
	id           string // of the request
	route        *route // nil where there is none
	unsent       bool   // what is written is the mux's, and not sent
	begun        time.Time
	received     time.Time // when the work at it began; zero where it never did
	answered     time.Time // the beginning of the answer; zero until then
	tenant       andon.TenantID
	answers      int // items of a page, or entries that were taken
	status       int // 0 until the answer begins
	bytes        int64
	bodyBegun    bool // some of its body was read
	bodyEnded    bool // all of it was
	panickedLate bool // after the answer had begun
	// eachWrite is how long the client may take to fetch what is written, each time; 0: the
	// deadline of the whole answer holds.
	eachWrite time.Duration
}

// WriteHeader begins the answer.
func (x *exchange) WriteHeader(status int) {
	if x.unsent {
		return
	}
	if x.status == 0 && status >= http.StatusOK {
		x.status, x.answered = status, time.Now()
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the answer.
func (x *exchange) Write(p []byte) (int, error) {
	if x.unsent {
		return len(p), nil
	}
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	if x.eachWrite > 0 {
		x.setWriteDeadline(time.Now().Add(x.eachWrite))
	}
	n, err := x.ResponseWriter.Write(p)
	x.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController set deadlines and flush.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// setReadDeadline bounds how long the request's body may take; the zero time lifts the bound. A
// body that is read to its end lifts it, or the deadline would end the call; one that is not keeps
// it, because after a refusal the server reads on, for as long as the client sends. Where the
// connection has no deadlines (in tests of handlers) the call's own time remains.
func (x *exchange) setReadDeadline(t time.Time) {
	_ = http.NewResponseController(x.ResponseWriter).SetReadDeadline(t)
}

// setWriteDeadline bounds how long the answer may take, in place of what the server sets for each
// request.
func (x *exchange) setWriteDeadline(t time.Time) {
	_ = http.NewResponseController(x.ResponseWriter).SetWriteDeadline(t)
}

// requestID returns the id that the client or a proxy gave, if it is fit for headers and logs, or
// makes one of 128 random bits.
func requestID(r *http.Request) string {
	const most = 64
	fit := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '-' || c == '_' || c == '.'
	}
	id := r.Header.Get("X-Request-Id")
	if id == "" {
		return rand.Text()
	}
	unfit := strings.ContainsFunc(id, func(c rune) bool { return !fit(c) })
	if len(id) > most || unfit {
		return rand.Text()
	}
	return id
}

func (a *API) logAccess(x *exchange, r *http.Request, now time.Time) {
	if !a.options.Log.Enabled(r.Context(), slog.LevelDebug) {
		return // nobody reads it
	}
	a.options.Log.LogAttrs(r.Context(), slog.LevelDebug, "request",
		slog.String("request_id", x.id),
		slog.String("method", r.Method),
		slog.String("path", r.URL.EscapedPath()),
		slog.Int("status", x.status),
		slog.Int64("bytes", x.bytes),
		slog.Duration("took", now.Sub(x.begun)),
		slog.String("remote", r.RemoteAddr),
	)
}

// panicked logs a panic and answers 500 where no answer has begun.
func (a *API) panicked(x *exchange, r *http.Request, v any) {
	a.options.Log.LogAttrs(r.Context(), slog.LevelError, "panic while serving a request",
		slog.String("request_id", x.id),
		slog.String("method", r.Method),
		slog.String("path", r.URL.EscapedPath()),
		slog.Any("panic", v),
		slog.String("stack", string(debug.Stack())),
	)
	if x.status != 0 {
		x.panickedLate = true
		return
	}
	x.writeProblem(problem.Problem{
		Status: http.StatusInternalServerError, Detail: problem.InternalDetail,
	})
}

// always is what every answer has. Answers are data, never pages, and old once they are sent; the
// few that are otherwise set these headers themselves.
var always = [...]struct {
	name  string
	value []string
}{
	{"X-Content-Type-Options", []string{"nosniff"}},
	{"Content-Security-Policy", []string{"default-src 'none'; frame-ancestors 'none'"}},
	{"Referrer-Policy", []string{"no-referrer"}},
	{"Cross-Origin-Resource-Policy", []string{"same-origin"}},
	{"Cache-Control", []string{"no-store"}},
}

// setHeaders sets what every answer has, and the id of this one.
func (a *API) setHeaders(x *exchange, r *http.Request) {
	h := x.Header()
	for i := range always {
		h[always[i].name] = always[i].value
	}
	x.Header().Set("X-Request-Id", x.id)
	if r.TLS != nil { // a browser comes back over TLS only
		x.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
}
