package httpapi

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/acknowledge"
	"github.com/andonhq/andon/internal/httpapi/documents"
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
)

// Notifications tell people, as package notify has it.
type Notifications interface {
	List(context.Context, andon.TenantID, notify.Wanted) iter.Seq2[notify.Logged, error]
	Test(context.Context, andon.TenantID, andon.PersonID) ([]notify.Logged, error)
	CheckContact(at string, c people.Contact) error
	Linked(ctx context.Context, token string) (notify.Linked, error)
	CalendarURL(ctx context.Context, is notify.Calendar) (string, error)
	LinkedCalendar(ctx context.Context, token string) (notify.Calendar, error)
}

// notificationRoutes are there where people are told.
func (a *API) notificationRoutes() (all []*route) {
	if a.options.Alerts != nil {
		all = append(all, a.alertsRoute())
	}
	if a.options.Notifications == nil || a.options.Documents == nil {
		return all
	}
	all = append(all, listing[client.Notification](route{
		pattern: "GET /notifications", name: "listNotifications", errors: []int{501},
		fixedOrder: "notifications come newest first",
		query: []param{
			{Name: "to", Title: "to of notifications", Example: "Liz"},
			{Name: "status", Title: "status of notifications", Example: "given-up",
				Values: []string{"held", "waiting", "delivered", "failed", "given-up", "listed"}},
			limitParam, cursorParam,
		},
	}, a.notifications),
		taking(route{
			pattern: "POST /people/{name}/contacts", name: "postContact",
			statuses: []int{http.StatusCreated, http.StatusOK}, errors: []int{404, 409, 501},
		}, a.postContact),
		answering(route{
			pattern: "POST /people/{name}/test", name: "testContacts", errors: []int{404, 501},
		}, a.testContacts),
		answering(route{
			pattern: "GET /schedules/{name}/calendar", name: "getCalendarLink",
			errors: []int{404, 501},
		}, a.calendarLink),
		&route{
			pattern: "GET " + notify.Calendars + "{token}", outside: true, hidden: true,
			name: "calendarByLink", open: true, serve: a.calendarByLink,
		})
	if a.options.Incidents == nil {
		return all
	}
	for _, method := range []string{"GET ", "POST "} {
		all = append(all, &route{
			pattern: method + notify.Acknowledgements + "{token}", outside: true, hidden: true,
			name: "acknowledgeByLink", open: true, serve: a.acknowledgeByLink,
			query: []param{severityParam},
		})
	}
	return all
}

func showNotification(l *notify.Logged) client.Notification {
	return client.Notification{
		ID: l.ID, To: l.To, Channel: l.Channel, At: l.At, Status: string(l.Status),
		Answer: l.Answer, NextAt: l.NextAt, Subject: l.Subject,
	}
}

func (a *API) notifications(c *call) error {
	w := notify.Wanted{To: andon.PersonID(c.Text("to")), Status: notify.Status(c.Text("status"))}
	w.Stopped = func(key string) { c.stopped = key }
	read := func(after string, n int) iter.Seq2[notify.Logged, error] {
		w.After = after
		return func(yield func(notify.Logged, error) bool) {
			for l, err := range a.options.Notifications.List(c.ctx(), c.tenant, w) {
				if n--; !yield(l, err) || n == 0 {
					return
				}
			}
		}
	}
	position := func(l *notify.Logged) string { return l.Key }
	return sendPage(c, stepItems, nil, read, plain(showNotification), position)
}

// postContact adds a contact to those of a person, once.
func (a *API) postContact(c *call, added people.Contact) (is people.Person, err error) {
	name := c.Segment("name")
	if err := a.options.Notifications.CheckContact("body", added); err != nil {
		return is, err
	}
	kept := a.options.Documents
	d, err := kept.Get(c.ctx(), c.tenant, people.Persons, name)
	if err == nil {
		is, err = documents.Content[people.Person](&d)
	}
	if err == nil && slices.Contains(is.Contacts, added) {
		c.status = http.StatusOK
		return is, nil
	}
	is.Contacts = append(is.Contacts, added)
	text, _ := json.Marshal(is) // it was read as JSON
	if err == nil {
		d, err = kept.Put(c.ctx(), c.tenant, people.Persons,
			records.Document{Name: name, Data: andon.JSON(text)}, records.Versions{d.Version})
	}
	return showDocument[people.Person](c, d, err)
}

func (a *API) testContacts(c *call) (is list[client.Notification], err error) {
	c.end() // it waits for others
	name := andon.PersonID(c.Segment("name"))
	all, err := a.options.Notifications.Test(c.ctx(), c.tenant, name)
	for i := range all {
		is.Items = append(is.Items, showNotification(&all[i]))
	}
	return is, err
}

// calendarLink returns the signed address of a schedule's calendar.
func (a *API) calendarLink(c *call) (is client.CalendarLink, err error) {
	name := c.Segment("name")
	d, err := a.options.Documents.Get(c.ctx(), c.tenant, people.Schedules, name)
	if err == nil {
		of := notify.Calendar{Tenant: c.tenant, Schedule: name, Begun: d.Begun}
		is.URL, err = a.options.Notifications.CalendarURL(c.ctx(), of)
	}
	return is, err
}

func (a *API) calendarByLink(c *call) error {
	is, err := a.options.Notifications.LinkedCalendar(c.ctx(), c.Segment("token"))
	if err != nil {
		return err
	}
	d, err := a.options.Documents.Get(c.ctx(), is.Tenant, people.Schedules, is.Schedule)
	if err == nil && d.Begun != is.Begun {
		err = andon.Errorf(andon.Gone, "the schedule of this link was deleted")
	}
	return c.sendCalendar(is.Tenant, d, err)
}

// acknowledgeByLink shows the page of a signed link, and acknowledges where its button was pressed.
func (a *API) acknowledgeByLink(c *call) error {
	c.who = "link"
	status, page, err := acknowledge.Answer(
		c.ctx(), a.options.Notifications.Linked, a.options.Incidents, c.r)
	if err != nil {
		return err
	}
	c.status = status
	c.send("text/html; charset=utf-8", page)
	return nil
}

// alertsRoute takes what is sent to an Alertmanager.
func (a *API) alertsRoute() *route {
	return &route{
		pattern: "POST /api/v2/alerts", outside: true, name: "postAlerts",
		body: &content{Schema: openapi.Objects()}, answer: &content{Schema: openapi.AnyObject()},
		errors: []int{http.StatusServiceUnavailable, http.StatusTooManyRequests},
		serve: func(c *call) error {
			text, err := c.object()
			if err != nil {
				return err
			}
			c.end() // it takes a turn of its own
			if err := a.options.Alerts(c.ctx(), text); err != nil {
				return err
			}
			c.send(typeJSON, []byte("{}\n"))
			return nil
		},
	}
}
