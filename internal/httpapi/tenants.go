package httpapi

import (
	"cmp"
	"iter"
	"net/http"
	"sort"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/params"
	"github.com/andonhq/andon/internal/seq"
)

func (a *API) tenantRoutes() []*route {
	return []*route{
		listing[client.Tenant](route{
			pattern: "GET /tenants", name: "listTenants", tenantless: true,
			query:      []param{limitParam, cursorParam},
			fixedOrder: "tenants have no time, they are listed by id, ascending",
		}, a.tenants),
		answering(route{
			pattern: "GET /tenants/{tenant}", name: "getTenant",
			tenantless: true, errors: []int{404},
		}, a.tenant),
		taking(route{
			pattern: "PUT /tenants/{tenant}", name: "putTenant", tenantless: true,
			statuses: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted},
			errors:   []int{409},
		}, a.putTenant),
		{
			pattern: "DELETE /tenants/{tenant}", name: "deleteTenant",
			tenantless: true, statuses: []int{http.StatusNoContent}, errors: []int{404, 409},
			serve: a.deleteTenant,
		},
	}
}

func showTenant(t *andon.Tenant) client.Tenant {
	return client.Tenant{
		Tenant:    t.ID,
		Retention: client.Retention{Events: t.Events, Readings: t.Readings},
		MaxFuture: t.MaxFuture, SilentAfter: t.SilentAfter,
		States: t.States.Defs(), UnknownStates: t.Unknown, Reordering: t.Reordering,
	}
}

// tenantBody is what a PUT names; what is nil stays as it is.
type tenantBody struct {
	Tenant      andon.TenantID       `json:"tenant,omitempty" doc:"if it is sent, that of the path"`
	Retention   *retentionBody       `json:"retention,omitempty"`
	MaxFuture   *andon.Duration      `json:"max_future,omitempty"`
	SilentAfter *andon.Duration      `json:"silent_after,omitempty"`
	States      []stateBody          `json:"states,omitempty"`
	Unknown     *andon.UnknownStates `json:"unknown_states,omitempty" doc:"accept or refuse others"`
	// What was read can be sent back.
	Reordering bool `json:"reordering,omitempty" doc:"only said by answers"`
}

type retentionBody struct {
	Events   *andon.Retention `json:"events,omitempty"`
	Readings *andon.Retention `json:"readings,omitempty"`
}

// stateBody is a state of a set. What is left out follows from the severity.
type stateBody struct {
	Name     andon.State `json:"name"`
	Severity uint8       `json:"severity" doc:"0 is normal; higher is worse"`
	Letter   string      `json:"letter,omitempty"`
	Colour   string      `json:"colour,omitempty" doc:"#rrggbb"`
	Symbol   string      `json:"symbol,omitempty"`
}

func (b *tenantBody) apply(t *andon.Tenant) error {
	if b.Retention != nil {
		replace(&t.Events, b.Retention.Events)
		replace(&t.Readings, b.Retention.Readings)
	}
	replace(&t.MaxFuture, b.MaxFuture)
	replace(&t.SilentAfter, b.SilentAfter)
	replace(&t.Unknown, b.Unknown)
	if b.States == nil {
		return nil
	}
	defs := make([]andon.StateDef, len(b.States))
	for i, s := range b.States {
		defs[i] = andon.StateDef(s)
	}
	set, err := andon.NewStateSet(defs)
	if err != nil {
		return err
	}
	t.States = set
	t.Unknown = cmp.Or(t.Unknown, andon.RefuseUnknown)
	return nil
}

func replace[T any](setting *T, with *T) {
	if with != nil {
		*setting = *with
	}
}

func (a *API) tenants(c *call) error {
	read := func(after andon.TenantID, n int) iter.Seq2[andon.Tenant, error] {
		return seq.List(func() ([]andon.Tenant, error) {
			all, err := a.store.Tenants(c.ctx())
			from := sort.Search(len(all), func(i int) bool { return all[i].ID > after })
			return all[from:min(from+n, len(all))], err
		})
	}
	position := func(t *andon.Tenant) andon.TenantID { return t.ID }
	return sendPage(c, oneStep, nil, read, plain(showTenant), position)
}

func (c *call) pathTenant() andon.TenantID {
	return params.PathID[andon.TenantID](&c.Reader, "tenant")
}

func (a *API) tenant(c *call) (client.Tenant, error) {
	id := c.pathTenant()
	if err := c.Fault(); err != nil {
		return client.Tenant{}, err
	}
	t, err := a.store.Tenant(c.ctx(), id)
	if err != nil {
		return client.Tenant{}, err
	}
	return showTenant(&t), nil
}

func (a *API) putTenant(c *call, sent tenantBody) (client.Tenant, error) {
	id := c.pathTenant()
	if sent.Tenant != "" && sent.Tenant != id {
		c.Mark("body.tenant", "the body is of tenant %q, the path of %q", sent.Tenant, id)
	}
	if err := c.Fault(); err != nil {
		return client.Tenant{}, err
	}
	t, created, err := c.intake.PutTenant(c.ctx(), id, sent.apply)
	if err != nil {
		return client.Tenant{}, err
	}
	if created {
		c.status = http.StatusCreated
		c.x.Header().Set("Location", c.r.URL.EscapedPath())
	} else if t.Reordering {
		c.status = http.StatusAccepted
	}
	return showTenant(&t), nil
}

func (a *API) deleteTenant(c *call) error {
	id := c.pathTenant()
	if err := c.Fault(); err != nil {
		return err
	}
	if err := c.intake.DeleteTenant(c.ctx(), id); err != nil {
		return err
	}
	c.x.WriteHeader(http.StatusNoContent)
	return nil
}
