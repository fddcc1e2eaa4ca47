package httpapi

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

func (a *API) intervals(c *call) (page[client.Interval], error) {
	device, limit := c.Device(), c.Limit()
	q := andon.IntervalQuery{
		States: c.States(), Span: c.Span(), Order: c.Order(), Limit: limit + 1,
	}
	if after := (andon.IntervalPosition{}); c.cursor(&after) {
		q.After = &after
	}
	tenant, err := c.record()
	if err != nil {
		return page[client.Interval]{}, err
	}
	runs := andon.Intervals(c.ctx(), a.store, c.tenant, tenant.States, device, q)
	position := func(i *andon.PositionedInterval) any { return i.Position }
	return readPage(c, limit, runs, plain(a.showInterval), position)
}

func (a *API) showInterval(i *andon.PositionedInterval) client.Interval {
	end := i.To
	if end == 0 {
		end = a.options.Now()
	}
	return client.Interval{
		State: i.State, From: i.From, To: i.To, Seconds: end.Sub(i.From).Seconds(),
	}
}
