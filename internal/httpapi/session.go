package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/session"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// A browser can't add the token to an address that a person opens, nor to an EventSource, and a
// page that kept it could lose it to a script. So the board signs in with the token once, and the
// browser then sends a cookie that no script can read. A cookie is sent by the browser's own
// decision, so it counts only for requests that are known to come from the board itself.

// sessionCookie is the name of the cookie. Over TLS the prefix makes browsers refuse one that was
// set without it, or by another host of the same domain.
func sessionCookie(r *http.Request) string {
	if isSecure(r) {
		return "__Host-andon-session"
	}
	return "andon-session"
}

// isSecure reports whether the browser speaks TLS, with this server or with a proxy before it. A
// client that says so wrongly only harms itself: its browser drops the cookie.
func isSecure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// sessionText is the cookie that a request has; "" for none.
func sessionText(r *http.Request) string {
	cookie, err := r.Cookie(sessionCookie(r))
	if err != nil {
		return ""
	}
	return cookie.Value
}

func setSession(x *exchange, r *http.Request, text string, life time.Duration) {
	seconds := int(life / time.Second)
	if seconds == 0 {
		seconds = -1 // the browser forgets it
	}
	http.SetCookie(x, &http.Cookie{
		Name: sessionCookie(r), Value: text, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: isSecure(r), SameSite: http.SameSiteStrictMode,
	})
}

var (
	errSessionEnded = &httpError{
		status: http.StatusUnauthorized, message: "the session has ended: sign in again",
		header: http.Header{"Www-Authenticate": {`Bearer realm="andon"`}},
	}
	errNotFromHere = &httpError{
		status: http.StatusForbidden,
		message: "a change by a session must come from the board itself: the browser sent " +
			"neither Sec-Fetch-Site nor Origin; programs send Authorization: Bearer <token>",
	}
)

// checkSession lets a browser in that signed in, and renews its session where it has become old.
func (g guard) checkSession(x *exchange, r *http.Request) (who string, err error) {
	if err := fromBoard(r); err != nil {
		return "", err
	}
	now := g.now().Std()
	s, err := g.sessions.Check(sessionText(r), now)
	if err != nil {
		return "", errSessionEnded
	}
	if s.Age(now) > session.Fresh {
		_, text := g.sessions.Renew(s, now)
		setSession(x, r, text, session.Life)
	}
	return sessionPrefix + s.Name(), nil
}

const sessionPrefix = "session "

// bySession reports whether the call is one of a browser that signed in.
func (c *call) bySession() bool { return strings.HasPrefix(c.life.caller.who, sessionPrefix) }

// fromBoard refuses what another page may have made the browser send. That a change does not come
// from another origin, as far as the browser says where from, was checked before. SameSite=Strict
// keeps the cookie from other sites already, but not from another port or name of the same one.
func fromBoard(r *http.Request) error {
	site := r.Header.Get("Sec-Fetch-Site")
	switch {
	case site != "" && site != "same-origin" && site != "none":
		return errOtherSite
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
	case site == "" && r.Header.Get("Origin") == "":
		return errNotFromHere
	}
	return nil
}

type sessionJSON struct {
	Required bool `json:"required" doc:"A token is needed here"`
	SignedIn bool `json:"signed_in" doc:"This request has a session, or the token"`
}

// sessionBody is what signs in.
type sessionBody struct {
	Token string `json:"token" doc:"The token of this server"`
}

func (a *API) sessionRoutes() []*route {
	const path, tag = "/session", "operations"
	show := answering(route{
		method: http.MethodGet, path: path, name: "getSession", tag: tag, open: true,
		summary: "Whether this server asks for a token, and whether the browser has signed in",
		detail:  "Needs no token.", tenantless: true,
	}, sessionJSON{Required: true, SignedIn: true}, a.showSession)
	begin := &route{
		method: http.MethodPost, path: path, name: "signIn", tag: tag, open: true,
		summary: "Sign a browser in",
		detail: "The answer sets a cookie (`HttpOnly`, `SameSite=Strict`, over TLS `Secure`) " +
			"that stands for the token for 30 days after its last use, and for 90 at most, also " +
			"across a restart of the server; a new token ends it. With the cookie, changes must " +
			"have `Origin` or " +
			"`Sec-Fetch-Site` of this server, as browsers send them. Programs send the token " +
			"with each request instead. A wrong token is refused after half a second. Where no " +
			"token is needed there is no cookie.",
		tenantless: true, readOnly: true, statuses: []int{http.StatusNoContent}, errors: []int{401},
		body: &content{
			kind: reflect.TypeFor[sessionBody](), example: sessionBody{Token: "3f9c0a7d51e2b846"},
		},
		serve: a.signIn,
	}
	end := &route{
		method: http.MethodDelete, path: path, name: "signOut", tag: tag, open: true,
		summary: "Sign a browser out", detail: "Needs no token.",
		tenantless: true, readOnly: true, statuses: []int{http.StatusNoContent}, serve: a.signOut,
	}
	return []*route{show, begin, end}
}

func (a *API) showSession(c *call) (sessionJSON, error) {
	if a.guard.token == nil {
		return sessionJSON{}, nil
	}
	_, err := a.guard.check(c.x, c.r, false)
	return sessionJSON{Required: true, SignedIn: err == nil}, nil
}

func (a *API) signIn(c *call) error {
	sent, err := readBody[sessionBody](c)
	if err != nil {
		return err
	}
	switch {
	case sent.Token == "":
		return andon.AtField("body.token", "token is missing")
	case a.guard.token == nil:
		return c.done()
	}
	now := a.guard.now().Std()
	if !a.guard.isToken(sent.Token) {
		c.end()
		a.options.Log.LogAttrs(c.ctx(), slog.LevelWarn, "sign-in refused: the token is wrong",
			slog.String("request_id", c.x.id), slog.String("remote", c.r.RemoteAddr))
		return a.guard.wrong.refuse(c.ctx(), errWrongToken)
	}
	s, text := a.guard.sessions.Begin(now)
	setSession(c.x, c.r, text, session.Life)
	c.life.caller.who = sessionPrefix + s.Name()
	a.intake.SignedIn(c.ctx())
	return c.done()
}

var (
	errWrongToken = &httpError{
		status: http.StatusUnauthorized, message: "the token is not the one of this server",
	}
	errTooFast = andon.Errorf(andon.Busy, "too many wrong tokens are tried at once: try again in "+
		"a second")
)

// signOut makes the browser forget its session, and the server refuse copies of it.
func (a *API) signOut(c *call) error {
	if a.guard.token != nil && sessionText(c.r) != "" {
		if err := fromBoard(c.r); err != nil {
			return err
		}
		now := a.guard.now().Std()
		if s, err := a.guard.sessions.Check(sessionText(c.r), now); err == nil {
			a.guard.sessions.End(s, now)
			c.life.caller.who = sessionPrefix + s.Name()
			a.intake.SignedOut(c.ctx())
		}
		setSession(c.x, c.r, "", 0)
	}
	return c.done()
}

// done answers without content.
func (c *call) done() error {
	c.end()
	c.x.WriteHeader(http.StatusNoContent)
	return nil
}

// wrongTokens slow down who tries tokens: a wrong one is refused after a pause. The right one is
// never kept waiting, also where many clients have one address, as those of a proxy do.
type wrongTokens struct {
	pause   time.Duration
	waiting chan struct{} // holds one value for each that waits
	count   prometheus.Counter
}

// mostWrong is how many requests with a wrong token wait at once. More are refused at once.
const mostWrong = 64

func newWrongTokens(o *Options) *wrongTokens {
	return &wrongTokens{
		pause: o.WrongTokenPause, waiting: make(chan struct{}, mostWrong),
		count: promauto.With(o.Registry).NewCounter(prometheus.CounterOpts{
			Name: "andon_http_wrong_tokens_total",
			Help: "Requests and sign-ins that were refused because their token is wrong.",
		}),
	}
}

// refuse returns the error of a wrong token after the pause.
func (w *wrongTokens) refuse(ctx context.Context, err error) error {
	w.count.Inc()
	select {
	case w.waiting <- struct{}{}:
	default:
		return errTooFast
	}
	_ = sleep.For(ctx, w.pause)
	<-w.waiting
	return err
}
