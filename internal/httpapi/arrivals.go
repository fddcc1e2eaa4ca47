package httpapi

import (
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/buffer"
	"github.com/andonhq/andon/internal/jsonout"
)

// The entries of all devices in the order of their arrival: what came after a position.

var sinceParam = param{Name: "after", Example: "9ix4b1-sy"}

// The words that are taken in place of a position.
const (
	afterOldest = "oldest"
	afterNewest = "newest"
)

type eventPage struct {
	Items []eventItem `json:"items"`
	Next  string      `json:"next,omitempty" doc:"cursor of the next page; absent on the last one"`
	// Position is where a reader goes on that has read all pages.
	Position andon.Position `json:"position,omitzero" doc:"only with after: where to go on"`
}

type eventItem struct {
	jsonout.Event
	Position andon.Position `json:"position,omitzero" doc:"only with after: after this event"`
}

// since reads which entries are asked for in the order of their arrival.
func (c *call) since() (q andon.ArrivalQuery, err error) {
	q = andon.ArrivalQuery{States: c.States(), Span: c.Span()}
	if c.Text("order") == "desc" {
		c.Mark("query.order", "with after events come in the order of their arrival: asc")
	}
	switch text := c.Text(sinceParam.Name); text {
	case afterOldest:
	case afterNewest:
		var newest andon.Position
		if _, newest, err = c.store.ChangesKept(c.ctx(), c.tenant); err != nil {
			return q, err
		}
		q.After = &newest
	default:
		at, err := andon.ParsePosition(text)
		c.Check("query."+sinceParam.Name, err)
		q.After = &at
	}
	return q, nil
}

// arrivals asks for a part of the entries. A position that is gone is a fault of the parameter.
func (c *call) arrivals(q *andon.ArrivalQuery) (part andon.Arrived, err error) {
	part, err = c.store.Arrivals(c.ctx(), c.tenant, *q)
	part.Items = slices.DeleteFunc(part.Items, func(a andon.Arrival) bool {
		return !c.selected.Contains(a.Device)
	})
	if andon.KindOf(err) == andon.Gone {
		gone := andon.Errorf(andon.Gone, "%w", err)
		gone.Fields = []andon.FieldError{{
			Location: "query." + sinceParam.Name, Message: gone.Message,
		}}
		err = gone
	}
	q.After = &part.Next
	return part, err
}

// eventsSince answers with a page. A store ends a part early that it has read much for; a page goes
// on a few times, so that a rare state is not one page after the other without an item.
func (a *API) eventsSince(c *call) error {
	q, err := c.since()
	limit := c.Limit()
	if at := (andon.Position{}); c.cursor(&at) {
		q.After = &at
	}
	if err == nil {
		err = c.Fault()
	}
	if err != nil {
		return err
	}
	l := buffer.Array{Buffer: c.newBuffer()}
	l.Text(`{"items":[`)
	const mostEarly = 8
	more := true
	for early := 0; more && l.Count < limit && l.Size() < pageBytes && early < mostEarly; {
		q.Limit = min(limit-l.Count, stepItems)
		part, err := c.arrivals(&q)
		if err != nil {
			return err
		}
		if more = part.More; len(part.Items) < q.Limit {
			early++
		}
		for i := range part.Items {
			if l.Size() >= pageBytes {
				q.After, more = &part.Items[i-1].Position, true
				break
			}
			if l.Add(&part.Items[i], limit, pageBytes); l.Err() != nil {
				return l.Err()
			}
		}
	}
	c.x.Answers = l.Count
	c.endSince(l.Buffer, *q.After, more)
	return c.sendBuffer(l.Buffer)
}

// endSince closes a page with the position after it.
func (c *call) endSince(s *buffer.Buffer, at andon.Position, more bool) {
	text := `],"position":"` + at.String() + `"`
	if more {
		next := andon.EncodeCursor(c.scope(), at)
		c.linkNext(next)
		text += `,"next":"` + next + `"`
	}
	s.Text(text + "}\n")
}

// positionHeader says where a reader goes on that has read all lines of an answer.
const positionHeader = "Andon-Position"

// linesSince sends all entries after a position that are there when it begins.
func (a *API) linesSince(c *call) error {
	q, err := c.since()
	c.refusePaging()
	if err == nil {
		err = c.Fault()
	}
	if err != nil {
		return err
	}
	_, end, err := a.store.ChangesKept(c.ctx(), c.tenant)
	if err != nil {
		return err
	}
	q.Limit = lineEvents
	c.x.Header().Set(positionHeader, end.String())
	err = c.sendLines(func(put func(any) (bool, error)) (more bool, err error) {
		part, err := c.arrivals(&q)
		for i := 0; i < len(part.Items) && err == nil; i++ {
			item := &part.Items[i]
			if item.Position.Compare(end) > 0 {
				return false, nil
			}
			var full bool
			if full, err = put(item); full {
				q.After = &item.Position
				return true, err
			}
		}
		return part.More && part.Next.Compare(end) < 0, err
	})
	if err != nil && c.x.Status == 0 {
		c.x.Header().Del(positionHeader)
	}
	return err
}
