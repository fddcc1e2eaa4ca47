package httpapi

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/params"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
)

// Documents keeps what people write: policies, schedules, people and maintenance.
type Documents interface {
	Get(
		ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, name string,
	) (records.Document, error)
	List(
		ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, after string,
		limit int,
	) iter.Seq2[records.Document, error]
	Put(
		ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, is records.Document,
	) (records.Document, error)
	Delete(
		ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, name string,
		version uint64,
	) error
}

// personRoutes are there where documents are kept.
func (a *API) personRoutes() (all []*route) {
	if a.options.Documents == nil {
		return nil
	}
	all = append(all, routesOf[people.Policy](a, people.Policies, "Policy", "Policies")...)
	all = append(all, routesOf[people.Schedule](a, people.Schedules, "Schedule", "Schedules")...)
	all = append(all, routesOf[people.Person](a, people.Persons, "Person", "People")...)
	all = append(all, routesOf[people.Maintenance](a, people.Maintenances, "Maintenance",
		"Maintenance")...)
	return append(all, answering(route{
		pattern: "GET /schedules/{name}/on-call", name: "getOnCall",
		query: []param{{Name: "at", Example: "2026-11-27T06:00:00Z"}}, errors: []int{404, 501},
	}, a.onCall))
}

// routesOf are the routes of one kind of document.
func routesOf[T any](a *API, kind people.DocumentKind, one, many string) []*route {
	list, path := "/"+string(kind), "/"+string(kind)+"/{name}"
	put := answering(route{
		pattern: "PUT " + path, name: "put" + one,
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
			return sendPage(c, stepItems, nil, read, contentOf[T], position)
		}),
		answering(route{
			pattern: "GET " + path, name: "get" + one, errors: []int{404, 501},
		}, func(c *call) (T, error) { return getDocument[T](c, kind) }),
		put,
		{
			pattern: "DELETE " + path, name: "delete" + one,
			statuses: []int{http.StatusNoContent}, errors: []int{404, 409, 501},
			serve: func(c *call) error { return deleteDocument(c, kind) },
		},
	}
}

func contentOf[T any](d *records.Document) (is T, err error) {
	if err = json.Unmarshal([]byte(d.Data), &is); err != nil {
		err = andon.Errorf(andon.Damaged, "read document %q: %w", d.Name, err)
	}
	return is, err
}

func (c *call) documentName() string {
	return string(params.PathID[andon.PersonID](&c.Reader, "name"))
}

// documentVersion is that of a condition of the request.
func (c *call) documentVersion() uint64 {
	match := c.r.Header.Get("If-Match")
	switch {
	case match == "" && c.r.Header.Get("If-None-Match") == "*":
		return 0
	case match == "":
		return records.AnyVersion
	}
	version, err := strconv.ParseUint(strings.Trim(match, `"`), 10, 64)
	if err != nil || version == 0 {
		c.Mark("header.If-Match", "If-Match is %q, not the ETag of an answer", match)
	}
	return version
}

func showDocument[T any](c *call, d records.Document, err error) (is T, _ error) {
	if err != nil {
		return is, err
	}
	c.x.Header().Set("ETag", `"`+strconv.FormatUint(d.Version, 10)+`"`)
	return contentOf[T](&d)
}

func getDocument[T any](c *call, kind people.DocumentKind) (is T, err error) {
	name := c.documentName()
	if err := c.Fault(); err != nil {
		return is, err
	}
	d, err := c.options.Documents.Get(c.ctx(), c.tenant, kind, name)
	return showDocument[T](c, d, err)
}

func putDocument[T any](c *call, kind people.DocumentKind) (is T, err error) {
	name, version := c.documentName(), c.documentVersion()
	if err := c.Fault(); err != nil {
		return is, err
	}
	text, err := c.object()
	if err != nil {
		return is, err
	}
	d, err := c.options.Documents.Put(c.ctx(), c.tenant, kind,
		records.Document{Name: name, Version: version, Data: andon.JSON(text)})
	if err == nil && d.Before == 0 {
		c.status = http.StatusCreated
		c.x.Header().Set("Location", c.r.URL.EscapedPath())
	}
	return showDocument[T](c, d, err)
}

func deleteDocument(c *call, kind people.DocumentKind) error {
	name, version := c.documentName(), c.documentVersion()
	if err := c.Fault(); err != nil {
		return err
	}
	if err := c.options.Documents.Delete(c.ctx(), c.tenant, kind, name, version); err != nil {
		return err
	}
	c.x.WriteHeader(http.StatusNoContent)
	return nil
}

// onCall says who is on call by a schedule, now or at a time.
func (a *API) onCall(c *call) (is people.Shift, err error) {
	name, at := c.documentName(), a.options.Now()
	if text := c.Text("at"); text != "" {
		if at, err = andon.ParseTime(text); err != nil {
			c.Check("query.at", err)
		}
	}
	if err := c.Fault(); err != nil {
		return is, err
	}
	d, err := a.options.Documents.Get(c.ctx(), c.tenant, people.Schedules, name)
	if err != nil {
		return is, err
	}
	s, err := contentOf[people.Schedule](&d)
	if err != nil {
		return is, err
	}
	roster, err := s.Roster()
	if err != nil {
		return is, andon.Errorf(andon.Damaged, "read schedule %q: %w", name, err)
	}
	return roster.OnCall(at), nil
}
