package httpapi

import (
	"iter"

	"github.com/andonhq/andon"
)

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
	return readPage(c, limit, a.withSince(c, device, runs), a.showInterval, position)
}

// withSince gives the running run the beginning that the store remembers: it outlives the entries
// that it came from.
func (a *API) withSince(
	c *call, device andon.DeviceID, runs iter.Seq2[andon.PositionedInterval, error],
) iter.Seq2[andon.PositionedInterval, error] {
	return func(yield func(andon.PositionedInterval, error) bool) {
		for run, err := range runs {
			if err == nil && run.To == 0 {
				run.From, err = a.beginning(c, device, run.Interval)
			}
			if !yield(run, err) {
				return
			}
		}
	}
}

func (a *API) beginning(
	c *call, device andon.DeviceID, running andon.Interval,
) (andon.Time, error) {
	d, err := a.store.Device(c.ctx(), c.tenant, device)
	switch {
	case err != nil && andon.KindOf(err) == andon.NotFound: // retired: its history stays
		return running.From, nil
	case err == nil && d.State == running.State:
		return min(running.From, d.Since), nil
	}
	return running.From, err
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
