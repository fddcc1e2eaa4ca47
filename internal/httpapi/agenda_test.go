package httpapi_test

import (
	"testing"

	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/people/records"
)

func withDocuments(o *httpapi.Options) { o.Documents = records.NewDocuments(o.Store, o.Now) }

func TestAgenda(t *testing.T) {
	w := newWorld(t, withDocuments)
	w.get("/agenda").equals(`{"maintenance":[],"shifts":[]}`)
	w.put("/maintenance/oil", `{"prefix":"press-","start":"2020-04-20T12:00:00Z","length":"2h",
		"rrule":"FREQ=WEEKLY;INTERVAL=2"}`).is(201)
	w.put("/people/Liz", `{}`).is(201)
	w.put("/schedules/line-3", `{"layers":[{"people":["Liz"],"from":"2020-04-27","turn":"7d",
		"hand_over":"06:00"}]}`).is(201)
	const gap = `{"schedule":"line-3","from":"2020-04-24T12:00:00Z","to":"2020-04-27T06:00:00Z",
		"gap":true}`
	w.get("/agenda").equals(`{"maintenance":[
		{"name":"oil","from":"2020-05-04T12:00:00Z","to":"2020-05-04T14:00:00Z"},
		{"name":"oil","from":"2020-05-18T12:00:00Z","to":"2020-05-18T14:00:00Z"}],"shifts":[
		` + gap + `,{"schedule":"line-3","from":"2020-04-27T06:00:00Z",
		"to":"2020-05-22T12:00:00Z","person":"Liz","layer":1}]}`)
	w.get("/agenda?from=2020-04-20T13:00:00Z&to=2020-04-21").equals(`{"maintenance":[
		{"name":"oil","from":"2020-04-20T12:00:00Z","to":"2020-04-20T14:00:00Z"}],"shifts":[
		{"schedule":"line-3","from":"2020-04-20T13:00:00Z",
		"to":"2020-04-21T23:59:59.999999Z","gap":true}]}`)
	w.get("/agenda?to=2020-12-24").fails(400, "to is after from, by 92d at most")
	w.get("/agenda?to=2020-04-20").fails(400, "to is after from")
}
