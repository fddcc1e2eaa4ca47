package httpapi

import (
	"iter"
	"net/http"
	"reflect"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/grouping"
	"github.com/andonhq/andon/internal/jsonout"
)

func (a *API) tenantEventsRoute() *route {
	r := listing[jsonout.Event](route{
		pattern: "GET /events", name: "listEvents",
		query: grouping.Selecting(
			stateParam, fromParam, toParam, orderParam, sinceParam, limitParam, cursorParam,
		),
		lines: true, errors: []int{http.StatusGone, http.StatusNotImplemented},
	}, a.tenantEvents)
	r.answer.Kind, r.answer.Texts = reflect.TypeFor[eventPage](), map[string]string{typeNDJSON: ""}
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

func (a *API) tenantEvents(c *call) error {
	// In one step: a store reads each device for each of them.
	return c.events(oneStep, c.Span(), a.allEvents(c))
}

func (a *API) allEvents(c *call) func(andon.EventQuery) iter.Seq2[andon.Event, error] {
	return func(q andon.EventQuery) iter.Seq2[andon.Event, error] {
		return a.store.TenantEvents(c.ctx(), c.tenant, q)
	}
}

// lineEvents is how many events are asked for at once of an answer that is sent line by line.
const lineEvents = 8192

func (a *API) eventLines(c *call) error {
	q := andon.EventQuery{States: c.States(), Span: c.Span(), Order: c.Order(), Limit: lineEvents}
	c.refusePaging()
	tenant, err := c.record()
	if err != nil {
		return err
	}
	return c.sendLines(func(put func(any) (bool, error)) (more bool, err error) {
		var last andon.Event
		full, read := false, 0
		for e, err := range a.allEvents(c)(q) {
			if err == nil && c.selected.Contains(e.Device) {
				full, err = put(&e)
			}
			if err != nil {
				return false, err
			}
			if last, read = e, read+1; full {
				break
			}
		}
		q.After = new(last.Key(tenant.States))
		return full || read == q.Limit, nil
	})
}

// sendLines sends an answer line by line. part reads a part of the items, from where it ended
// before, and puts each; put says where the part is full. The slot is given back while the client
// takes a part. So a slow client holds nothing but the memory of one part, which counts like that
// of any answer.
func (c *call) sendLines(
	part func(put func(item any) (full bool, err error)) (more bool, err error),
) error {
	s, n := c.newBuffer(), 0
	put := func(item any) (full bool, err error) {
		n++
		s.JSON(item)
		s.Text("\n")
		return s.Size() >= pageBytes, s.Err()
	}
	for more := true; more; n = 0 {
		err := c.begin(c.intake.Reads, 1)
		if err == nil {
			more, err = part(put)
		}
		if err != nil {
			return err
		}
		c.end()
		c.x.Answers += n
		if n > 0 {
			if err := c.flushLines(s); err != nil {
				return err
			}
		}
	}
	if c.x.Status == 0 {
		c.send(typeNDJSON, nil)
	}
	return nil
}

// refusePaging refuses what selects a page, of an answer that has none.
func (c *call) refusePaging() {
	for _, name := range []string{limitParam.Name, cursorParam.Name} {
		if c.Text(name) != "" {
			c.Mark("query."+name, "%s does not go with %s: the answer is whole", name, typeNDJSON)
		}
	}
}
