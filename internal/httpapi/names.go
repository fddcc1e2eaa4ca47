package httpapi

import (
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/grouping"
)

func (a *API) nameRoutes() []*route {
	one := func(path, name string, of andon.NameKind, query []param) *route {
		return listing[client.Name](route{
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

func (a *API) names(of andon.NameKind) func(*call) error {
	return func(c *call) error {
		counted := c.selected != nil || a.store.Capabilities().CountNames
		show := func(n *andon.NameCount) client.Name {
			shown := client.Name{Name: n.Name}
			if counted {
				shown.Devices = &n.Devices
			}
			return shown
		}
		read := func(after string, n int) iter.Seq2[andon.NameCount, error] {
			q := andon.NameQuery{Of: of, After: after, Limit: n}
			if c.selected != nil {
				return a.intake.Groups.People(c.ctx(), c.tenant, q, c.selected)
			}
			return a.store.Names(c.ctx(), c.tenant, q)
		}
		position := func(n *andon.NameCount) string { return n.Name }
		return sendPage(c, oneStep, nil, read, plain(show), position)
	}
}
