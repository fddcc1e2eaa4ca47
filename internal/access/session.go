package access

import (
	"net/http"
	"strings"
	"time"

	"github.com/andonhq/andon/internal/session"
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

func setSession(w http.ResponseWriter, r *http.Request, text string, life time.Duration) {
	seconds := int(life / time.Second)
	if seconds == 0 {
		seconds = -1 // the browser forgets it
	}
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie(r), Value: text, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: isSecure(r), SameSite: http.SameSiteStrictMode,
	})
}

var (
	errSessionEnded = &Refusal{
		Status: http.StatusUnauthorized, Message: "the session has ended: sign in again",
		Header: http.Header{"Www-Authenticate": {`Bearer realm="andon"`}},
	}
	errNotFromHere = &Refusal{
		Status: http.StatusForbidden,
		Message: "a change by a session must come from the board itself: the browser sent " +
			"neither Sec-Fetch-Site nor Origin; programs send Authorization: Bearer <token>",
	}
)

// checkSession lets a browser in that signed in, and renews its session where it has become old.
func (g *Guard) checkSession(w http.ResponseWriter, r *http.Request) (who string, err error) {
	if err := fromBoard(r); err != nil {
		return "", err
	}
	now := g.options.Now().Std()
	s, err := g.sessions.Check(sessionText(r), now)
	if err != nil {
		return "", errSessionEnded
	}
	if s.Age(now) > session.Fresh {
		_, text := g.sessions.Renew(s, now)
		setSession(w, r, text, session.Life)
	}
	return sessionPrefix + s.Name(), nil
}

const sessionPrefix = "session "

// IsSession reports whether a client was let in as a browser that signed in.
func IsSession(who string) bool { return strings.HasPrefix(who, sessionPrefix) }

// OnEnd has end called when the session ends that a client was let in by, until forget is called.
func (g *Guard) OnEnd(who string, end func()) (forget func()) {
	return g.sessions.OnEnd(strings.TrimPrefix(who, sessionPrefix), end)
}

// SignIn begins a session, whose cookie it sets, if the token is right. Otherwise it is refused
// after a pause. It is called only where a token is needed.
func (g *Guard) SignIn(
	w http.ResponseWriter, r *http.Request, token string,
) (who string, err error) {
	if !g.isToken(token) {
		return "", g.refuse(r.Context(), errWrongToken)
	}
	s, text := g.sessions.Begin(g.options.Now().Std())
	setSession(w, r, text, session.Life)
	return sessionPrefix + s.Name(), nil
}

var errWrongToken = &Refusal{
	Status: http.StatusUnauthorized, Message: "the token is not the one of this server",
}

// SignOut makes the browser forget its session, and copies of that refused. Without a session who
// is empty.
func (g *Guard) SignOut(w http.ResponseWriter, r *http.Request) (who string, err error) {
	if g.token == nil || sessionText(r) == "" {
		return "", nil
	}
	if err := fromBoard(r); err != nil {
		return "", err
	}
	now := g.options.Now().Std()
	if s, err := g.sessions.Check(sessionText(r), now); err == nil {
		g.sessions.End(s, now)
		who = sessionPrefix + s.Name()
	}
	setSession(w, r, "", 0)
	return who, nil
}

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
