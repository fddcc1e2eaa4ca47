package httpapi

import (
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/httpapi/sent"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
	"github.com/andonhq/andon/internal/intake"
)

func (a *API) peopleRoutes() []*route {
	return []*route{
		taking(route{
			pattern: "PUT /devices/{device}/operator", name: "putOperator",
		}, a.putOperator),
		{
			pattern: "POST /assignments", name: "postAssignments",
			body:   &content{Feed: true, Name: "NewAssignment", Schema: openapi.Assignment()},
			answer: accountContent(),
			serve:  a.postAssignments,
		},
		listing[andon.Assignment](route{
			pattern: "GET /devices/{device}/assignments", name: "listAssignments",
			query: []param{fromParam, toParam, orderParam, limitParam, cursorParam},
		}, a.assignments),
		taking(route{
			pattern: "POST /devices/{device}/escalations", name: "postEscalation",
			statuses: []int{http.StatusCreated, http.StatusOK}, errors: []int{404},
		}, a.postEscalation),
	}
}

type operatorBody struct {
	Operator *andon.PersonID `json:"operator" doc:"null: nobody"`
}

func (a *API) putOperator(c *call, asked operatorBody) (andon.Assignment, error) {
	device := c.Device()
	c.checkNamed("body.operator", asked.Operator, "assigns", "unassigns")
	if err := c.Fault(); err != nil {
		return andon.Assignment{}, err
	}
	assignment := andon.Assignment{Device: device, Operator: sent.OrNobody(asked.Operator)}
	kept, err := c.intake.Assign(c.ctx(), c.tenant, []andon.Assignment{assignment})
	if err != nil {
		return andon.Assignment{}, err
	}
	return kept[0], nil
}

// checkNamed refuses an empty name: a script whose variable is not set must not undo anything.
func (c *call) checkNamed(location string, p *andon.PersonID, does, undoes string) {
	if p != nil && *p == "" {
		c.Mark(location, `%s is empty: a name %s, null %s`,
			strings.TrimPrefix(location, "body."), does, undoes)
	}
}

func (a *API) postAssignments(c *call) error {
	text, format, err := c.feed()
	if err != nil {
		return err
	}
	batch, err := jsonfeed.Assignments(text, format, c.Take)
	if err != nil {
		return err
	}
	assignments := make([]andon.Assignment, len(batch.Items))
	for i, item := range batch.Items {
		assignments[i] = item.Value
	}
	kept, err := c.intake.Assign(c.ctx(), c.tenant, assignments)
	if err != nil {
		return err
	}
	return c.account(intake.Result{Accepted: len(kept), Rejected: batch.Rejected})
}

// assignments lists those that hold at an instant of a span. A store knows no span here: it would
// have to know the end of each, which is the beginning of the next. The list of one device is
// short, so what is passed over costs little.
func (a *API) assignments(c *call) error {
	device, q, span := c.Device(), andon.PageQuery{Order: c.Order()}, c.Span()
	read := func(after andon.Time, n int) iter.Seq2[andon.Assignment, error] {
		q.After, q.Limit = after, n
		return a.store.Assignments(c.ctx(), c.tenant, device, q)
	}
	keep := func(a *andon.Assignment) bool { return holdsWithin(a, span) }
	position := func(a *andon.Assignment) andon.Time { return a.From }
	return sendPage(c, stepItems, keep, read, same, position)
}

// holdsWithin reports whether an assignment, which is [From, To), has an instant in a span.
func holdsWithin(a *andon.Assignment, span andon.Span) bool {
	begun := span.To == 0 || a.From <= span.To
	return begun && (a.To == 0 || a.To > span.From)
}

type escalationBody struct {
	To    *andon.PersonID `json:"to" doc:"the supervisor; null withdraws"`
	By    andon.PersonID  `json:"by,omitempty" doc:"who escalates"`
	Note  string          `json:"note,omitempty"`
	Time  andon.Time      `json:"time,omitempty" doc:"with state: another entry than the current"`
	State andon.State     `json:"state,omitempty"`
}

func (a *API) postEscalation(c *call, asked escalationBody) (andon.Escalation, error) {
	device := c.Device()
	c.checkNamed("body.to", asked.To, "escalates", "withdraws")
	if err := c.Fault(); err != nil {
		return andon.Escalation{}, err
	}
	kept, added, err := c.intake.Escalate(c.ctx(), c.tenant, andon.Escalation{
		Device: device, Time: asked.Time, State: asked.State,
		To: sent.OrNobody(asked.To), By: asked.By, Note: asked.Note,
	})
	if err != nil && asked.Time != 0 {
		err = c.withoutEntry(err, device, asked.Time, asked.State)
	}
	if err != nil {
		return andon.Escalation{}, err
	}
	if !added {
		c.status = http.StatusOK
	}
	c.x.Header().Set("Location", basePath+"/devices/"+url.PathEscape(string(device))+
		"/events/"+kept.Time.String()+"/"+url.PathEscape(string(kept.State)))
	return kept, nil
}
