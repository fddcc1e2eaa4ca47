package httpapi

import (
	"net/http"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

func (a *API) nameRoutes() []*route {
	one := func(path, name, tag, whose, count string, of andon.NameKind) *route {
		return listing(route{
			method: http.MethodGet, path: path, name: name, tag: tag,
			summary: "The " + whose + " that occur, by bytes, with how many devices each has",
			detail: "`devices` is how many " + count + "; absent where the store can't say. " +
				"Names that have nothing any more may be listed, with 0.",
			fixedOrder: "names have no time",
			query:      []param{limitParam, cursorParam},
		}, exampleName(of), a.names(of))
	}
	return []*route{
		one("/operators", "listOperators", "people", "operators",
			"have that operator now", andon.OperatorNames),
		one("/supervisors", "listSupervisors", "people", "supervisors",
			"are escalated to that supervisor now", andon.SupervisorNames),
		one("/metrics", "listMetrics", "readings", "metrics",
			"sent that metric", andon.MetricNames),
	}
}

func exampleName(of andon.NameKind) client.Name {
	name := map[andon.NameKind]string{
		andon.OperatorNames: "Liz", andon.SupervisorNames: "Sara", andon.MetricNames: "temperature",
	}[of]
	return client.Name{Name: name, Devices: new(12)}
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
