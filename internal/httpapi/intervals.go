package httpapi

import (
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

func (a *API) intervals(c *call) error {
	device := c.Device()
	q := andon.EventQuery{States: c.States(), Span: c.Span(), Order: c.Order()}
	tenant, err := c.record()
	if err != nil {
		return err
	}
	read := func(after *andon.EventKey, n int) iter.Seq2[andon.Interval, error] {
		q.After, q.Limit = after, n
		return andon.Intervals(c.ctx(), a.store, c.tenant, tenant.States, device, q)
	}
	position := func(i *andon.Interval) *andon.EventKey { return &i.First }
	return sendPage(c, oneStep, nil, read, plain(a.showInterval), position)
}

func (a *API) showInterval(i *andon.Interval) client.Interval {
	from, end := i.First.Time, i.To
	if end == 0 {
		end = a.options.Now()
	}
	return client.Interval{
		State: i.First.State, From: from, To: i.To, Seconds: end.Sub(from).Seconds(),
	}
}
