package httpapi

import "github.com/andonhq/andon"

// intervalJSON is one run of one state.
type intervalJSON struct {
	State   andon.State `json:"state"`
	From    andon.Time  `json:"from"`
	To      andon.Time  `json:"to,omitempty" doc:"when the next run began; absent while it runs"`
	Seconds float64     `json:"seconds" doc:"up to now where it runs"`
}

func (a *API) intervals(c *call) (page[intervalJSON], error) {
	device, limit := c.device(), c.limit()
	q := andon.IntervalQuery{
		States: c.states(), Span: c.span(), Order: c.order(), Limit: limit + 1,
	}
	if after := (andon.IntervalPosition{}); c.cursor(&after) {
		q.After = &after
	}
	if err := c.fault(); err != nil {
		return page[intervalJSON]{}, err
	}
	tenant, err := c.record()
	if err != nil {
		return page[intervalJSON]{}, err
	}
	runs := andon.Intervals(c.ctx(), a.store, c.tenant, tenant.States, device, q)
	position := func(i *andon.PositionedInterval) any { return i.Position }
	return readPage(c, limit, runs, a.showInterval, position)
}

func (a *API) showInterval(i *andon.PositionedInterval) intervalJSON {
	end := i.To
	if end == 0 {
		end = a.options.Now()
	}
	return intervalJSON{
		State: i.State, From: i.From, To: i.To, Seconds: end.Sub(i.From).Seconds(),
	}
}
