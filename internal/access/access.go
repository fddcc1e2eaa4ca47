// Package access decides who may send requests at all.
//
// On loopback anybody on the machine may. What has to be kept out is another site in the same
// person's browser: one that resolves its own name to 127.0.0.1 (seen by its Host), and one that
// sends requests across (seen by Origin and Sec-Fetch-Site). Elsewhere a token is needed, or the
// cookie of a browser that signed in with it.
//
// The package knows no route: its caller says which requests need no token. It writes no answer but
// the cookie of a session.
package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/session"
	"github.com/andonhq/andon/internal/sleep"
)

// Options are what a Guard is made with. Now and Registry must be given.
type Options struct {
	Token    string // "": none is needed
	Loopback bool   // only this machine can connect
	Now      func() andon.Time
	Registry *prometheus.Registry
	Pause    time.Duration // after which a wrong token is refused
}

// Guard decides about requests. Its methods may be called concurrently.
type Guard struct {
	options  Options
	token    *[sha256.Size]byte // of the token; nil: none is needed
	crossing *http.CrossOriginProtection
	sessions *session.Sessions // nil as token is
	wrong    prometheus.Counter
	waiting  chan struct{} // holds one value for each wrong token that is to be refused
}

// New makes a Guard.
func New(o Options) *Guard {
	g := &Guard{
		options: o, crossing: http.NewCrossOriginProtection(),
		waiting: make(chan struct{}, mostWrong),
		wrong: promauto.With(o.Registry).NewCounter(prometheus.CounterOpts{
			Name: "andon_http_wrong_tokens_total",
			Help: "Requests and sign-ins that were refused because their token is wrong.",
		}),
	}
	if o.Token != "" {
		sum := sha256.Sum256([]byte(o.Token))
		g.token, g.sessions = &sum, session.New(o.Token)
	}
	return g
}

// Refusal is an error that HTTP has a status for, and the domain no kind.
type Refusal struct {
	Status  int
	Message string
	Header  http.Header // to be sent with it; may be nil
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// NeedsToken reports whether a token is needed.
func (g *Guard) NeedsToken() bool { return g.token != nil }

// Check refuses a request, or returns how the client was let in: a word for logs. open says that
// the request needs no token. A session that has become old is renewed by a cookie in w.
func (g *Guard) Check(w http.ResponseWriter, r *http.Request, open bool) (who string, err error) {
	if g.options.Loopback {
		if err := checkLocal(r); err != nil {
			return "", err
		}
	}
	if err := g.crossing.Check(r); err != nil {
		return "", errOtherSite
	}
	switch {
	case g.token == nil:
		return "loopback", nil
	case open:
		return "", nil
	case r.Header.Get("Authorization") == "" && sessionText(r) != "":
		return g.checkSession(w, r)
	}
	return "token", g.checkToken(r)
}

var errOtherSite = &Refusal{
	Status: http.StatusForbidden, Message: "requests from another site are refused",
}

// checkLocal refuses requests that were made for another site.
func checkLocal(r *http.Request) error {
	if !isLocal(r.Host) {
		return &Refusal{
			Status:  http.StatusMisdirectedRequest,
			Message: "this server is for this machine only: the Host must be localhost",
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || !isLocal(u.Host) {
			return errOtherSite
		}
	}
	return nil
}

// isLocal reports whether a host, with or without a port, is this machine by a name or an address
// that no other site can have.
func isLocal(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		name = strings.TrimSuffix(inner, "]")
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
}

// checkToken compares hashes, in constant time, so that neither the token nor its length leaks.
func (g *Guard) checkToken(r *http.Request) error {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if g.isToken(strings.TrimLeft(token, " ")) && strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	challenge, message := `Bearer realm="andon"`, "a token is needed: Authorization: Bearer <token>"
	if token != "" {
		challenge += `, error="invalid_token"`
		message = "the token is not the one of this server"
	}
	err := &Refusal{
		Status: http.StatusUnauthorized, Message: message,
		Header: http.Header{"Www-Authenticate": {challenge}},
	}
	if token == "" {
		return err
	}
	return g.refuse(r.Context(), err)
}

func (g *Guard) isToken(text string) bool {
	sum := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}

// mostWrong is how many requests with a wrong token wait at once. More are refused at once.
const mostWrong = 64

var errTooFast = andon.Errorf(andon.Busy, "too many wrong tokens are tried at once: try again in "+
	"a second")

// refuse returns the error of a wrong token after the pause, to slow down clients that try tokens.
// The right one never waits, also where many clients have one address, as those of a proxy do.
func (g *Guard) refuse(ctx context.Context, err error) error {
	g.wrong.Inc()
	select {
	case g.waiting <- struct{}{}:
	default:
		return errTooFast
	}
	_ = sleep.For(ctx, g.options.Pause)
	<-g.waiting
	return err
}
