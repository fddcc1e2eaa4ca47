package httpapi

import (
	"iter"
	"net/http"
	"reflect"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/documents"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
)

// personRoutes are there where documents are kept.
func (a *API) personRoutes() (all []*route) {
	if a.options.Documents == nil {
		return nil
	}
	all = append(all, routesOf[people.Policy](a, people.Policies, "Policy", "Policies")...)
	all = append(all, withCalendar(
		routesOf[people.Schedule](a, people.Schedules, "Schedule", "Schedules"))...)
	all = append(all, a.ruleRoutes()...)
	all = append(all, routesOf[people.Person](a, people.Persons, "Person", "People")...)
	all = append(all, routesOf[people.Maintenance](a, people.Maintenances, "Maintenance",
		"Maintenance")...)
	return append(all, answering(route{
		pattern: "GET /agenda", name: "getAgenda", query: []param{fromParam, toParam},
		errors: []int{501},
	}, a.agenda), answering(route{
		pattern: "GET /schedules/{name}/on-call", name: "getOnCall",
		query: []param{{Name: "at", Example: "2026-11-27T06:00:00Z"}}, errors: []int{404, 501},
	}, a.onCall), taking(route{
		pattern: "PUT /schedules/{name}/overrides", name: "putOverrides", versioned: true,
		errors: []int{404, 409, 501},
	}, setOverrides[documents.Overrides]), taking(route{
		pattern: "POST /schedules/{name}/overrides", name: "postOverride", versioned: true,
		errors: []int{404, 409, 501},
	}, setOverrides[documents.NewOverride]), answering(route{
		pattern: "DELETE /schedules/{name}/overrides/{person}", name: "deleteOverrides",
		query:  []param{{Name: "at", Example: "2026-12-24T12:00:00Z"}},
		errors: []int{404, 409, 501}, versioned: true,
	}, a.deleteOverrides), listing[client.Document](route{
		pattern: "GET /documents", name: "listDocuments", query: []param{limitParam, cursorParam},
		fixedOrder: "those that others refer to come first", errors: []int{501},
	}, a.allDocuments), taking(route{
		pattern: "POST /documents", name: "applyDocuments", query: []param{dryRunParam},
		errors: []int{409, 501},
	}, func(c *call, sent client.DocumentsSent) (applied client.DocumentsApplied, err error) {
		if err := c.Fault(); err != nil {
			return applied, err
		}
		dry := c.Flag(dryRunParam.Name)
		return documents.Apply(c.ctx(), a.options.Documents, c.tenant, sent, dry)
	}), taking(route{
		pattern: "POST /policies/{name}/test", name: "testPolicy", readOnly: true,
		errors: []int{404, 501},
	}, func(c *call, t client.PolicyTrial) (client.PolicyTimeline, error) {
		tenant, err := c.record()
		if err != nil {
			return client.PolicyTimeline{}, err
		}
		kept, now := a.options.Documents, a.options.Now()
		return documents.Try(c.ctx(), kept, &tenant, c.Segment("name"), t, now)
	}))
}

func (a *API) ruleRoutes() []*route {
	all := routesOf[people.Rule](a, people.Rules, "Rule", "Rules")
	if a.options.Rules == nil {
		return all
	}
	return append(all, taking(route{
		pattern: "POST /rules/test", name: "testRule", readOnly: true, long: true,
		errors: []int{501},
	}, func(c *call, t client.RuleTrial) (client.RuleTimeline, error) {
		return documents.TryRule(c.ctx(), a.options.Rules, c.tenant, t, a.options.Now())
	}))
}

func routesOf[T any](a *API, kind people.DocumentKind, one, many string) []*route {
	list, path := "/"+string(kind), "/"+string(kind)+"/{name}"
	put := answering(route{
		pattern: "PUT " + path, name: "put" + one, versioned: true,
		statuses: []int{http.StatusOK, http.StatusCreated}, errors: []int{409, 501},
	}, func(c *call) (T, error) { return putDocument[T](c, kind) })
	put.body = &content{Kind: reflect.TypeFor[T]()}
	return []*route{
		listing[T](route{
			pattern: "GET " + list, name: "list" + many, query: []param{limitParam, cursorParam},
			fixedOrder: "documents are listed by name", errors: []int{501},
		}, func(c *call) error {
			read := func(after string, n int) iter.Seq2[records.Document, error] {
				return a.options.Documents.List(c.ctx(), c.tenant, kind, after, n)
			}
			position := func(d *records.Document) string { return d.Name }
			return sendPage(c, stepItems, nil, read, documents.Content[T], position)
		}),
		answering(route{
			pattern: "GET " + path, name: "get" + one, versioned: true, errors: []int{404, 501},
		}, func(c *call) (T, error) {
			d, err := c.options.Documents.Get(c.ctx(), c.tenant, kind, c.Segment("name"))
			return showDocument[T](c, d, err)
		}),
		put,
		{
			pattern: "DELETE " + path, name: "delete" + one, versioned: true,
			statuses: []int{http.StatusNoContent}, errors: []int{404, 409, 501},
			serve: func(c *call) error { return deleteDocument(c, kind) },
		},
	}
}

func showDocument[T any](c *call, d records.Document, err error) (is T, _ error) {
	if err != nil {
		return is, err
	}
	c.x.Header().Set("ETag", documents.ETag(&d))
	return documents.Content[T](&d)
}

func putDocument[T any](c *call, kind people.DocumentKind) (is T, err error) {
	name, over := c.Segment("name"), documents.Over(&c.Reader)
	if err := c.Fault(); err != nil {
		return is, err
	}
	text, err := c.object()
	if err != nil {
		return is, err
	}
	d, err := c.options.Documents.Put(c.ctx(), c.tenant, kind,
		records.Document{Name: name, Data: andon.JSON(text)}, over)
	if err == nil && d.Before == 0 {
		c.status = http.StatusCreated
		c.x.Header().Set("Location", c.r.URL.EscapedPath())
	}
	return showDocument[T](c, d, err)
}

func deleteDocument(c *call, kind people.DocumentKind) error {
	name, over := c.Segment("name"), documents.Over(&c.Reader)
	if err := c.Fault(); err != nil {
		return err
	}
	if err := c.options.Documents.Delete(c.ctx(), c.tenant, kind, name, over); err != nil {
		return err
	}
	return c.done()
}

// allDocuments lists the documents of all kinds.
func (a *API) allDocuments(c *call) error {
	read := func(after documents.Place, n int) iter.Seq2[client.Document, error] {
		return documents.All(c.ctx(), a.options.Documents, c.tenant, after, n)
	}
	return sendPage(c, stepItems, nil, read, same, documents.PlaceOf)
}

func (a *API) agenda(c *call) (is documents.Agenda, err error) {
	span := c.Span()
	if err := c.Fault(); err != nil {
		return is, err
	}
	return documents.Plan(c.ctx(), a.options.Documents, c.tenant, span, a.options.Now())
}

// withCalendar answers with the calendar of a schedule where its name ends in
// people.CalendarSuffix: http.ServeMux has no pattern for that. Programs that show calendars add no
// header, so the tenant may be a parameter.
func withCalendar(all []*route) []*route {
	for _, r := range all {
		if r.name != "getSchedule" {
			continue
		}
		asJSON := r.serve
		r.query = []param{{Name: "tenant", Title: "tenant of a calendar", Example: "plant-2"}}
		r.answer.Texts = map[string]string{typeCalendar: ""}
		r.serve = func(c *call) error {
			name, is := strings.CutSuffix(c.Segment("name"), people.CalendarSuffix)
			if !is {
				return asJSON(c)
			}
			d, err := c.options.Documents.Get(c.ctx(), c.tenant, people.Schedules, name)
			return c.sendCalendar(c.tenant, d, err)
		}
	}
	return all
}

const typeCalendar = "text/calendar"

func (c *call) sendCalendar(tenant andon.TenantID, d records.Document, err error) error {
	var text string
	if err == nil {
		text, err = documents.Calendar(&d, tenant, c.options.Now())
	}
	if err == nil {
		c.send(typeCalendar+"; charset=utf-8", []byte(text))
	}
	return err
}

// setOverrides changes the overrides of a schedule.
func setOverrides[T interface{ Set(*people.Schedule) error }](
	c *call, sent T,
) (is people.Schedule, err error) {
	name, over := c.Segment("name"), documents.Over(&c.Reader)
	if err := c.Fault(); err != nil {
		return is, err
	}
	kept := c.options.Documents
	d, err := documents.SetOverrides(c.ctx(), kept, c.tenant, name, over, sent)
	return showDocument[people.Schedule](c, d, err)
}

// deleteOverrides takes overrides of a person away: all that have not ended, or what is about a
// time.
func (a *API) deleteOverrides(c *call) (is people.Schedule, err error) {
	gone := documents.PastOverrides{
		Person: andon.PersonID(c.Segment("person")), After: a.options.Now(),
	}
	if text := c.Text("at"); text != "" {
		gone.Then = true
		gone.After, err = andon.ParseTime(text)
		c.Check("query.at", err)
	}
	return setOverrides(c, gone)
}

// onCall says who is on call by a schedule, now or at a time.
func (a *API) onCall(c *call) (is client.Shift, err error) {
	name, at := c.Segment("name"), a.options.Now()
	if text := c.Text("at"); text != "" {
		at, err = andon.ParseTime(text)
		c.Check("query.at", err)
	}
	if err := c.Fault(); err != nil {
		return is, err
	}
	return documents.OnCall(c.ctx(), a.options.Documents, c.tenant, name, at)
}
