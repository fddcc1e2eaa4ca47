package httpapi

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

func (a *API) nameRoutes() []*route {
	one := func(path, name string, of andon.NameKind) *route {
		return listing(route{
			pattern: "GET " + path, name: name, fixedOrder: "names have no time",
			query: []param{limitParam, cursorParam},
		}, a.names(of))
	}
	return []*route{
		one("/operators", "listOperators", andon.OperatorNames),
		one("/supervisors", "listSupervisors", andon.SupervisorNames),
		one("/metrics", "listMetrics", andon.MetricNames),
	}
}

func (a *API) names(of andon.NameKind) func(*call) (page[client.Name], error) {
	return func(c *call) (page[client.Name], error) {
		q, limit := andon.NameQuery{Of: of}, c.Limit()
		c.cursor(&q.After)
		q.Limit = limit + 1
		counted := a.store.Capabilities().CountNames
		show := func(n *andon.NameCount) client.Name {
			shown := client.Name{Name: n.Name}
			if counted {
				shown.Devices = &n.Devices
			}
			return shown
		}
		found := a.store.Names(c.ctx(), c.tenant, q)
		return readPage(c, limit, found, plain(show),
			func(n *andon.NameCount) any { return n.Name })
	}
}
