package httpapi

import (
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/sent"
)

func (a *API) restoreRoutes() []*route {
	return []*route{
		listing[client.Entry](route{
			pattern: "GET /devices/{device}/escalations", name: "listEscalations",
			query: []param{stateParam, fromParam, toParam, orderParam, limitParam, cursorParam},
		}, a.escalations),
		answering(route{
			pattern: "GET /devices/{device}/retirements", name: "listRetirements",
		}, a.retirements),
		taking(route{
			pattern: "POST /restore", name: "restore",
		}, a.restore),
	}
}

// retirementsJSON are few: people make them.
type retirementsJSON struct {
	Items []andon.Time `json:"items"`
}

func (a *API) retirements(c *call) (retirementsJSON, error) {
	all, err := a.store.Retirements(c.ctx(), c.tenant, c.Device())
	return retirementsJSON{Items: append([]andon.Time{}, all...)}, err
}

func (a *API) escalations(c *call) error {
	device := c.Device()
	q := andon.EventQuery{States: c.States(), Span: c.Span(), Order: c.Order()}
	t, err := c.record()
	if err != nil {
		return err
	}
	read := func(after *andon.EventKey, n int) iter.Seq2[andon.Entry, error] {
		q.After, q.Limit = after, n
		return a.store.EscalatedEntries(c.ctx(), c.tenant, device, q)
	}
	show := func(e *andon.Entry) client.Entry { return showEntry(*e) }
	position := func(e *andon.Entry) *andon.EventKey { return new(e.Key(t.States)) }
	return sendPage(c, stepItems, nil, read, plain(show), position)
}

func (a *API) restore(c *call, asked sent.RestoreBody) (client.Result, error) {
	h := asked.History()
	n := len(h.Assignments) + len(h.Escalations) + len(h.Retirements)
	if n > andon.MaxRequestEntries {
		return client.Result{}, andon.Errorf(andon.TooLarge,
			"more than %d entries: send parts", andon.MaxRequestEntries)
	}
	result, err := c.intake.Restore(c.ctx(), c.tenant, h)
	if err != nil {
		return client.Result{}, err
	}
	return client.Result{
		Accepted: result.Accepted, Rejected: append([]andon.Rejection{}, result.Rejected...),
	}, nil
}
