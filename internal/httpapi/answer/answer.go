// Package answer writes the answer to one request, and remembers what was sent. It knows no route.
package answer

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/problem"
)

// Writer is a ResponseWriter that remembers what was sent.
type Writer struct {
	http.ResponseWriter
	ID           string // of the request
	Begun        time.Time
	Received     time.Time // when the work at it began; zero where it never did
	Answered     time.Time // the beginning of the answer; zero until then
	Tenant       andon.TenantID
	Answers      int // items of a page, or entries that were taken
	Status       int // 0 until the answer begins
	Bytes        int64
	BodyBegun    bool // some of the request's body was read
	BodyEnded    bool // all of it was
	PanickedLate bool // after the answer had begun
	// EachWrite is how long the client may take to fetch what is written, each time; 0: the
	// deadline of the whole answer holds.
	EachWrite time.Duration

	mu      sync.Mutex
	hurried bool
}

// WriteHeader begins the answer.
func (x *Writer) WriteHeader(status int) {
	if x.Status == 0 && status >= http.StatusOK {
		x.Status, x.Answered = status, time.Now()
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the answer.
func (x *Writer) Write(p []byte) (int, error) {
	if x.Status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	if x.EachWrite > 0 {
		x.allow(x.EachWrite, false)
	}
	n, err := x.ResponseWriter.Write(p)
	x.Bytes += int64(n)
	return n, err
}

// Hurry gives the client a second for what is being written, and for all that follows: the program
// stops. It may be called concurrently with Write.
func (x *Writer) Hurry() { x.allow(time.Second, true) }

// allow gives the client a time from now, unless it has to hurry already.
func (x *Writer) allow(d time.Duration, hurry bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.hurried {
		x.hurried = hurry
		x.SetWriteDeadline(time.Now().Add(d))
	}
}

// Unwrap lets http.ResponseController set deadlines and flush.
func (x *Writer) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// SetReadDeadline bounds how long the request's body may take; the zero time lifts the bound. A
// body that is read to its end lifts it, or the deadline would end the call; one that is not keeps
// it, because after a refusal the server reads on, for as long as the client sends. Where the
// connection has no deadlines (in tests of handlers) the call's own time remains.
func (x *Writer) SetReadDeadline(t time.Time) {
	_ = http.NewResponseController(x.ResponseWriter).SetReadDeadline(t)
}

// SetWriteDeadline bounds how long the answer may take, in place of what the server sets for each
// request.
func (x *Writer) SetWriteDeadline(t time.Time) {
	_ = http.NewResponseController(x.ResponseWriter).SetWriteDeadline(t)
}

// Worked is how long the request was worked at: until the answer began, or now.
func (x *Writer) Worked(now time.Time) time.Duration {
	from, to := x.Begun, x.Answered
	if !x.Received.IsZero() {
		from = x.Received
	}
	if to.IsZero() { // nothing was ever sent
		to = now
	}
	return to.Sub(from)
}

// WriteProblem answers with a problem, whole.
func (x *Writer) WriteProblem(p problem.Problem) {
	p.Title, p.RequestID = cmp.Or(p.Title, http.StatusText(p.Status)), x.ID
	text, err := json.Marshal(p)
	if err != nil {
		panic("answer: a problem can't be written: " + err.Error())
	}
	if wait := problem.RetryAfter(p.Status); wait != "" {
		x.Header().Set("Retry-After", wait)
	}
	text = append(text, '\n')
	x.Header().Set("Content-Type", problem.Type)
	x.Header().Set("Content-Length", strconv.Itoa(len(text)))
	x.WriteHeader(p.Status)
	_, _ = x.Write(text) // if it can't be sent, the client is gone
}

// RequestID returns the id that the client or a proxy gave, if it is fit for headers and logs, or
// makes one of 128 random bits.
func RequestID(r *http.Request) string {
	const most = 64
	unfit := func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '-' || c == '_' || c == '.')
	}
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > most || strings.ContainsFunc(id, unfit) {
		return rand.Text()
	}
	return id
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

// SetHeaders sets what every answer has, and the id of this one.
func (x *Writer) SetHeaders(r *http.Request) {
	h := x.Header()
	for i := range always {
		h[always[i].name] = always[i].value
	}
	h.Set("X-Request-Id", x.ID)
	if r.TLS != nil { // a browser comes back over TLS only
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
