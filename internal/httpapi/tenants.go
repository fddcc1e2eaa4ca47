package httpapi

import (
	"iter"
	"net/http"
	"sort"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/sent"
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

func (a *API) tenants(c *call) error {
	read := func(after andon.TenantID, n int) iter.Seq2[andon.Tenant, error] {
		return seq.List(func() ([]andon.Tenant, error) {
			all, err := a.store.Tenants(c.ctx())
			from := sort.Search(len(all), func(i int) bool { return all[i].ID > after })
			return all[from:min(from+n, len(all))], err
		})
	}
	position := func(t *andon.Tenant) andon.TenantID { return t.ID }
	return sendPage(c, oneStep, nil, read, plain(client.TenantOf), position)
}

func (a *API) tenant(c *call) (client.Tenant, error) {
	t, err := a.store.Tenant(c.ctx(), andon.TenantID(c.Segment("tenant")))
	if err != nil {
		return client.Tenant{}, err
	}
	return client.TenantOf(&t), nil
}

func (a *API) putTenant(c *call, asked sent.TenantBody) (client.Tenant, error) {
	id := andon.TenantID(c.Segment("tenant"))
	if asked.Tenant != "" && asked.Tenant != id {
		c.Mark("body.tenant", "the body is of tenant %q, the path of %q", asked.Tenant, id)
	}
	if err := c.Fault(); err != nil {
		return client.Tenant{}, err
	}
	t, created, err := c.intake.PutTenant(c.ctx(), id, asked.Apply)
	if err != nil {
		return client.Tenant{}, err
	}
	if created {
		c.status = http.StatusCreated
		c.x.Header().Set("Location", c.r.URL.EscapedPath())
	} else if t.Reordering {
		c.status = http.StatusAccepted
	}
	return client.TenantOf(&t), nil
}

func (a *API) deleteTenant(c *call) error {
	err := c.intake.DeleteTenant(c.ctx(), andon.TenantID(c.Segment("tenant")))
	if err != nil {
		return err
	}
	return c.done()
}
