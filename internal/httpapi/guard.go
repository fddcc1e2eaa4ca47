package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/session"
)

// guard decides who may ask at all.
//
// On loopback anyone on the machine may, so what has to be kept out is another site in the same
// person's browser: one that resolves its own name to 127.0.0.1 (seen by its Host), and one that
// sends requests across (seen by Origin and Sec-Fetch-Site). Elsewhere a token is asked for, or the
// cookie of a browser that signed in with it, but not for what holds no data: routes that are open.
type guard struct {
	token    *[sha256.Size]byte // of the token; nil: none is asked for
	loopback bool
	crossing *http.CrossOriginProtection
	sessions *session.Sessions // nil as token is
	now      func() andon.Time
	wrong    *wrongTokens
}

func newGuard(o *Options) guard {
	g := guard{
		loopback: o.Loopback, crossing: http.NewCrossOriginProtection(), now: o.Now,
		wrong: newWrongTokens(o),
	}
	if o.Token != "" {
		sum := sha256.Sum256([]byte(o.Token))
		g.token, g.sessions = &sum, session.New(o.Token)
	}
	return g
}

// check refuses a request, or returns how the client was let in; open says that it is for a route
// that needs no token.
func (g guard) check(x *exchange, r *http.Request, open bool) (who string, err error) {
	if g.loopback {
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
		return g.checkSession(x, r)
	}
	return "token", g.checkToken(r)
}

var errOtherSite = &httpError{
	status: http.StatusForbidden, message: "requests from another site are refused",
}

// checkLocal refuses requests that were made for another site.
func checkLocal(r *http.Request) error {
	if !isLocal(r.Host) {
		return &httpError{
			status:  http.StatusMisdirectedRequest,
			message: "this server is for this machine only: the Host must be localhost",
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
func (g guard) checkToken(r *http.Request) error {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if g.isToken(strings.TrimLeft(token, " ")) && strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	challenge, message := `Bearer realm="andon"`, "a token is needed: Authorization: Bearer <token>"
	if token != "" {
		challenge += `, error="invalid_token"`
		message = "the token is not the one of this server"
	}
	err := &httpError{
		status: http.StatusUnauthorized, message: message,
		header: http.Header{"Www-Authenticate": {challenge}},
	}
	if token == "" {
		return err
	}
	return g.wrong.refuse(r.Context(), err)
}

func (g guard) isToken(text string) bool {
	sum := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
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
	x.set("X-Request-Id", x.id)
	if r.TLS != nil { // a browser comes back over TLS only
		x.set("Strict-Transport-Security", "max-age=31536000")
	}
}
