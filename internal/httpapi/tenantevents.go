package httpapi

import (
	"iter"
	"net/http"
	"reflect"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/buffer"
	"github.com/andonhq/andon/internal/httpapi/grouping"
	"github.com/andonhq/andon/internal/jsonout"
)

func (a *API) tenantEventsRoute() *route {
	r := listing(route{
		pattern: "GET /events", name: "listEvents",
		query: grouping.Selecting(
			stateParam, fromParam, toParam, orderParam, sinceParam, limitParam, cursorParam,
		),
		lines: true, errors: []int{http.StatusGone, http.StatusNotImplemented},
	}, a.tenantEvents)
	r.answer.Kind = reflect.TypeFor[eventPage]()
	page := r.serve
	r.serve = func(c *call) error {
		since, lines := c.Text(sinceParam.Name) != "", wantsLines(c.r)
		switch {
		case since && lines:
			return a.linesSince(c)
		case since:
			return a.eventsSince(c)
		case lines:
			return a.eventLines(c)
		}
		return page(c)
	}
	return r
}

func (a *API) tenantEvents(c *call) (page[jsonout.Event], error) {
	span := c.Span()
	// In one step: a store reads each device for each of them.
	return c.eventsInSteps(andon.MaxLimit+1, span, a.allEvents(c))
}

func (a *API) allEvents(c *call) func(andon.EventQuery) iter.Seq2[andon.Event, error] {
	return func(q andon.EventQuery) iter.Seq2[andon.Event, error] {
		return a.store.TenantEvents(c.ctx(), c.tenant, q)
	}
}

// lineEvents is how many events are asked for at once of an answer that is sent line by line.
const lineEvents = 8192

// eventLines sends all events that are selected. It reads a part of them, gives its slot back while
// the client takes that, and goes on after it. So a slow client holds nothing but the memory of
// one part, which counts like that of any answer.
func (a *API) eventLines(c *call) error {
	q := andon.EventQuery{States: c.States(), Span: c.Span(), Order: c.Order(), Limit: lineEvents}
	c.refusePaging()
	if err := c.Fault(); err != nil {
		return err
	}
	tenant, err := c.record()
	s := c.newBuffer()
	for more := true; err == nil && more; {
		if err = c.begin(c.intake.Reads, 1); err == nil {
			more, err = c.sendLines(s, &q, tenant.States, a.allEvents(c))
		}
	}
	if err == nil && c.x.status == 0 {
		c.send(typeNDJSON, nil)
	}
	return err
}

// refusePaging refuses what selects a page, of an answer that has none.
func (c *call) refusePaging() {
	for _, name := range []string{limitParam.Name, cursorParam.Name} {
		if c.Text(name) != "" {
			c.Mark("query."+name, "%s does not go with %s: the answer is whole", name, typeNDJSON)
		}
	}
}

// sendLines sends one part, and makes the query begin after it. Nothing is sent where nothing is
// left.
func (c *call) sendLines(
	s *buffer.Buffer, q *andon.EventQuery, states *andon.StateSet,
	read func(andon.EventQuery) iter.Seq2[andon.Event, error],
) (more bool, err error) {
	n := 0
	var last andon.Event
	for e, err := range read(*q) {
		if err == nil && !c.selected.Has(e.Device) {
			continue
		}
		if err == nil {
			err = s.JSON(&e)
		}
		if err == nil {
			err = s.Text("\n")
		}
		if err != nil {
			return false, err
		}
		last, n = e, n+1
		if s.Size() >= pageBytes {
			break
		}
	}
	c.end()
	if n == 0 {
		return false, nil
	}
	q.After = new(last.Key(states))
	c.x.answers += n
	more = n == q.Limit || s.Size() >= pageBytes
	return more, c.flushLines(s)
}
