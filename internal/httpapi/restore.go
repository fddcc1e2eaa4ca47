package httpapi

import (
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
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
	device := c.Device()
	if err := c.Fault(); err != nil {
		return retirementsJSON{}, err
	}
	all, err := a.store.Retirements(c.ctx(), c.tenant, device)
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

type restoreBody struct {
	Assignments []restoredAssignment `json:"assignments,omitempty"`
	Escalations []restoredEscalation `json:"escalations,omitempty"`
	Retired     []restoredRetirement `json:"retired,omitempty"`
}

type restoredRetirement struct {
	Device  andon.DeviceID `json:"device"`
	Retired andon.Time     `json:"retired"`
}

type restoredAssignment struct {
	Device   andon.DeviceID  `json:"device"`
	Operator *andon.PersonID `json:"operator" doc:"null: nobody"`
	From     andon.Time      `json:"from"`
}

type restoredEscalation struct {
	Device andon.DeviceID  `json:"device"`
	Time   andon.Time      `json:"time"`
	State  andon.State     `json:"state"`
	To     *andon.PersonID `json:"to" doc:"null: withdrawn"`
	At     andon.Time      `json:"at"`
	By     andon.PersonID  `json:"by,omitempty"`
	Note   string          `json:"note,omitempty"`
}

func (b *restoreBody) history() (h andon.History) {
	for _, a := range b.Assignments {
		h.Assignments = append(h.Assignments, andon.Assignment{
			Device: a.Device, Operator: orNobody(a.Operator), From: a.From,
		})
	}
	for _, e := range b.Escalations {
		h.Escalations = append(h.Escalations, andon.Escalation{
			Device: e.Device, Time: e.Time, State: e.State,
			To: orNobody(e.To), At: e.At, By: e.By, Note: e.Note,
		})
	}
	for _, r := range b.Retired {
		h.Retirements = append(h.Retirements, andon.Retirement{Device: r.Device, At: r.Retired})
	}
	return h
}

func (a *API) restore(c *call, sent restoreBody) (client.Result, error) {
	h := sent.history()
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
