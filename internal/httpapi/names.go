package httpapi

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/grouping"
)

func (a *API) nameRoutes() []*route {
	one := func(path, name string, of andon.NameKind, query []param) *route {
		return listing(route{
			pattern: "GET " + path, name: name, fixedOrder: "names have no time", query: query,
		}, a.names(of))
	}
	page := []param{limitParam, cursorParam}
	people := grouping.Selecting(page...)
	return []*route{
		one("/operators", "listOperators", andon.OperatorNames, people),
		one("/supervisors", "listSupervisors", andon.SupervisorNames, people),
		one("/metrics", "listMetrics", andon.MetricNames, page),
	}
}

func (a *API) names(of andon.NameKind) func(*call) (page[client.Name], error) {
	return func(c *call) (page[client.Name], error) {
		q, limit := andon.NameQuery{Of: of}, c.Limit()
		c.cursor(&q.After)
		q.Limit = limit + 1
		counted := c.selected != nil || a.store.Capabilities().CountNames
		show := func(n *andon.NameCount) client.Name {
			shown := client.Name{Name: n.Name}
			if counted {
				shown.Devices = &n.Devices
			}
			return shown
		}
		found := a.store.Names(c.ctx(), c.tenant, q)
		if c.selected != nil {
			found = a.intake.Groups.People(c.ctx(), c.tenant, q, c.selected)
		}
		return readPage(c, limit, found, plain(show),
			func(n *andon.NameCount) any { return n.Name })
	}
}
