package httpapi

import (
	"log/slog"
	"net/http"
	"reflect"

	"github.com/andonhq/andon"
)

type sessionJSON struct {
	Required bool `json:"required" doc:"A token is needed here"`
	SignedIn bool `json:"signed_in" doc:"This request has a session, or the token"`
	// Incidents lets the board know what to show without a request that is refused.
	Incidents bool `json:"incidents" doc:"This server keeps incidents"`
}

type sessionBody struct {
	Token string `json:"token" doc:"The token of this server"`
}

func (a *API) sessionRoutes() []*route {
	show := answering(route{
		pattern: "GET /session", name: "getSession", open: true, tenantless: true,
	}, a.showSession)
	begin := &route{
		pattern: "POST /session", name: "signIn", open: true,
		tenantless: true, readOnly: true, statuses: []int{http.StatusNoContent}, errors: []int{401},
		body:  &content{Kind: reflect.TypeFor[sessionBody]()},
		serve: a.signIn,
	}
	end := &route{
		pattern: "DELETE /session", name: "signOut", open: true,
		tenantless: true, readOnly: true, statuses: []int{http.StatusNoContent}, serve: a.signOut,
	}
	return []*route{show, begin, end}
}

func (a *API) showSession(c *call) (sessionJSON, error) {
	is := sessionJSON{Required: a.guard.NeedsToken(), Incidents: a.options.Incidents != nil}
	if is.Required {
		_, err := a.guard.Check(c.x, c.r, false)
		is.SignedIn = err == nil
	}
	return is, nil
}

func (a *API) signIn(c *call) error {
	sent, err := readBody[sessionBody](c)
	if err != nil {
		return err
	}
	if sent.Token == "" {
		return andon.AtField("body.token", "token is missing")
	}
	c.end() // a wrong token is refused after a pause
	if !a.guard.NeedsToken() {
		return c.done()
	}
	who, err := a.guard.SignIn(c.x, c.r, sent.Token)
	if err != nil {
		a.options.Log.LogAttrs(c.ctx(), slog.LevelWarn, "sign-in refused: the token is wrong",
			slog.String("request_id", c.x.ID), slog.String("remote", c.r.RemoteAddr))
		return err
	}
	c.who = who
	a.intake.SignedIn(c.ctx())
	return c.done()
}

func (a *API) signOut(c *call) error {
	who, err := a.guard.SignOut(c.x, c.r)
	if err != nil {
		return err
	}
	if who != "" {
		c.who = who
		a.intake.SignedOut(c.ctx())
	}
	return c.done()
}

// done answers without content.
func (c *call) done() error {
	c.end()
	c.x.WriteHeader(http.StatusNoContent)
	return nil
}
