package httpapi

import (
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/grouping"
	"github.com/andonhq/andon/internal/httpapi/incidents"
	"github.com/andonhq/andon/internal/httpapi/sse"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/seq"
)

var (
	statusParam   = param{Name: "status", Example: "unacknowledged"}
	severityParam = param{Name: "severity", Example: "48"}
	ageParam      = param{Name: "age", Example: "30m"}
	kindParam     = param{Name: "kind", Example: "state"}
	flappingParam = param{Name: "flapping", Example: "true", Values: []string{"true", "false"}}
	orderOfOpen   = param{
		Name: "sort", Title: "sort of incidents", Example: "since", Initial: "severity",
		Values: []string{"severity", "since", "opened"},
	}
	incidentsParam = param{
		Name: "incidents", Example: "true", Initial: "false", Values: []string{"true", "false"},
	}
)

// incidentRoutes are there where incidents are kept.
func (a *API) incidentRoutes() []*route {
	if a.options.Incidents == nil {
		return nil
	}
	selecting := func(more ...param) []param {
		return grouping.Selecting(append(more, stateParam, statusParam, severityParam,
			ageParam, operatorParam, kindParam, flappingParam, deviceParam)...)
	}
	unsupported := []int{501}
	return []*route{
		listing[client.Incident](route{
			pattern: "GET /incidents", name: "listIncidents", errors: unsupported,
			fixedOrder: "`sort` names one of three; with from or to incidents come newest first",
			query:      selecting(orderOfOpen, fromParam, toParam, limitParam, cursorParam),
		}, a.incidents),
		answering(route{
			pattern: "GET /incidents/counts", name: "countIncidents", errors: unsupported,
			query: selecting(),
		}, a.countIncidents),
		listing[client.Incident](route{
			pattern: "GET /devices/{device}/incidents", name: "listDeviceIncidents",
			fixedOrder: "incidents of a device come newest first", errors: unsupported,
			query: []param{fromParam, toParam, limitParam, cursorParam},
		}, a.deviceIncidents),
		answering(route{
			pattern: "GET /incidents/{id}", name: "getIncident", errors: []int{404, 501},
		}, a.incident),
		a.reportRoute(answering(route{
			pattern: "GET /reports/incidents", name: "reportIncidents", errors: reportErrors,
			query: grouping.Selecting(fromParam, toParam, operatorParam, perParam),
		}, a.incidentReport)),
		acting[incidents.Acknowledge](people.Acknowledge, "acknowledgeIncident"),
		acting[incidents.Noted](people.Take, "takeIncident"),
		acting[incidents.Commented](people.Comment, "commentIncident"),
		acting[incidents.Escalate](people.EscalateTo, "escalateIncident"),
		acting[incidents.Shelve](people.ShelveIt, "shelveIncident"),
		acting[incidents.Noted](people.Unshelve, "unshelveIncident"),
		acting[incidents.Remove](people.Remove, "removeIncident"),
		acting[incidents.Noted](people.Restore, "restoreIncident"),
		acting[incidents.Noted](people.ResetIt, "resetIncident"),
	}
}

// acting is a route by which somebody does something about an incident.
func acting[B incidents.Body](do people.ActionKind, name string) *route {
	return taking(route{
		pattern: "POST /incidents/{id}/" + string(do), name: name, errors: []int{404, 409, 501},
	}, func(c *call, sent B) (client.Incident, error) {
		action := sent.Action(&c.Reader)
		action.Do = do
		if err := c.Fault(); err != nil {
			return client.Incident{}, err
		}
		is, err := c.options.Incidents.Act(c.ctx(), c.tenant, c.Segment("id"), action)
		return incidents.ShowWhole(&is), err
	})
}

// openIncidents returns those that a query selects of what is open.
func (c *call) openIncidents(q *incidents.Query) ([]*people.Incident, error) {
	q.Selected = c.selected
	if _, err := c.record(); err != nil {
		return nil, err
	}
	all, err := c.options.Incidents.Open(c.ctx(), c.tenant)
	return q.Select(all), err
}

func (a *API) incidents(c *call) error {
	q, span := incidents.Read(&c.Reader), c.Span()
	order := c.Text("sort")
	past := span != andon.Span{}
	if past && order != "" && order != "opened" {
		c.Mark("query.sort", "with from or to incidents come newest first: sort is opened")
	}
	open, err := c.openIncidents(&q)
	if err != nil {
		return err
	}
	if past {
		read := func(after records.Position, n int) iter.Seq2[people.Incident, error] {
			return seq.List(func() ([]people.Incident, error) {
				return a.options.Incidents.Past(c.ctx(), c.tenant, records.PastQuery{
					Span: span, After: after, Only: q.Wants, Limit: n,
				})
			})
		}
		return sendPage(c, stepItems, q.Admits, read, plain(showIncident), records.PositionOf)
	}
	read := func(after *incidents.Position, n int) iter.Seq2[incidents.Listed, error] {
		return seq.List(func() ([]incidents.Listed, error) {
			some := incidents.After(open, order, after, n)
			return incidents.Follow(c.ctx(), a.options.Incidents, c.tenant, some)
		})
	}
	position := func(i *incidents.Listed) *incidents.Position {
		return new(incidents.PositionBy(order, i.Kept))
	}
	show := func(i *incidents.Listed) client.Incident { return incidents.Show(i.Now) }
	return sendPage(c, oneStep, nil, read, plain(show), position)
}

func showIncident(i *people.Incident) client.Incident { return incidents.Show(i) }

func (a *API) countIncidents(c *call) (client.IncidentCounts, error) {
	q := incidents.Read(&c.Reader)
	open, err := c.openIncidents(&q)
	return incidents.Count(open), err
}

func (a *API) deviceIncidents(c *call) error {
	device, span := c.Device(), c.Span()
	if _, err := c.record(); err != nil {
		return err
	}
	read := func(after *incidents.Place, n int) iter.Seq2[people.Incident, error] {
		return incidents.OfDevice(c.ctx(), a.options.Incidents, c.tenant, device, span, after, n)
	}
	return sendPage(c, stepItems, nil, read, plain(showIncident), incidents.PlaceOf)
}

func (a *API) incident(c *call) (client.Incident, error) {
	is, err := a.options.Incidents.Get(c.ctx(), c.tenant, c.Segment("id"))
	return incidents.ShowWhole(&is), err
}

// incidentChanges returns what tells a stream which incidents have changed; nil: it does not ask.
func (c *call) incidentChanges() sse.ChangedIncidents {
	if !c.Flag("incidents") {
		return nil
	}
	if c.options.Incidents == nil {
		c.Mark("query.incidents", incidents.Off)
		return nil
	}
	return incidents.Changed(c.options.Incidents, c.tenant)
}
