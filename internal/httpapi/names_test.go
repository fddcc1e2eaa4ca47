package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	w := newWorld(t)
	for _, event := range []string{
		`{"device":"a","state":"WARNING1","operator":"Liz","escalated_to":"Sara"}`,
		`{"device":"b","state":"WARNING1","operator":"Liz"}`,
		`{"device":"c","state":"WARNING1","operator":"d'Arc / #1"}`,
	} {
		w.post("/events", event).is(http.StatusOK)
	}
	w.post("/readings", `{"device":"m","metrics":{"temp":1,"hum":2}}`).is(http.StatusOK)
	w.put("/devices/c/operator", `{"operator":"Anne"}`).is(http.StatusOK)
	w.get("/operators").equals(`{"items":[{"name":"Anne","devices":1},{"name":"Liz","devices":2},
		{"name":"d'Arc / #1","devices":0}]}`)
	w.get("/supervisors").equals(`{"items":[{"name":"Sara","devices":1}]}`)
	w.get("/metrics").equals(`{"items":[{"name":"hum","devices":1},{"name":"temp","devices":1}]}`)
	p := w.get("/operators?limit=1").page()
	if p.Next == "" {
		t.Fatal("there is no next page")
	}
	w.get("/operators?limit=2&cursor=" + p.Next).equals(`{"items":[{"name":"Liz","devices":2},
		{"name":"d'Arc / #1","devices":0}]}`)
	w.put("/devices/a/group", `{"group":"plant/hall"}`).is(http.StatusOK)
	w.put("/devices/c/group", `{"group":"plant"}`).is(http.StatusOK)
	w.get("/operators?group=plant").equals(`{"items":[{"name":"Anne","devices":1},
		{"name":"Liz","devices":1}]}`)
	p = w.get("/operators?group=plant&limit=1").page()
	w.get("/operators?group=plant&limit=1&cursor=" + p.Next).equals(
		`{"items":[{"name":"Liz","devices":1}]}`)
	w.get("/supervisors?group=plant").equals(`{"items":[{"name":"Sara","devices":1}]}`)
	w.get("/supervisors?group=none").equals(`{"items":[]}`)
	w.get("/metrics?group=plant").fails(http.StatusBadRequest, "there is no parameter")
	w.get("/operators", "Andon-Tenant: none").fails(http.StatusNotFound)
	w.get("/operators?order=asc").fails(http.StatusBadRequest, "there is no order here")
}

func TestDevicesThatShowNothing(t *testing.T) {
	w := newWorld(t)
	w.event("old", "2020-04-24T10:00:00Z", "WARNING2")
	w.event("older", "2020-04-24T10:00:00Z", "NORMAL")
	w.do(http.MethodDelete, base+"/devices/old", "").is(http.StatusOK)
	w.do(http.MethodDelete, base+"/devices/older", "").is(http.StatusOK)
	w.event("older", "2020-04-24T12:05:00Z", "NORMAL")
	w.post("/readings", `[{"device":"meter","time":"2020-04-24T11:00:00Z","metrics":{"a":1}},
		{"device":"older","metrics":{"a":1}}]`).is(http.StatusOK)
	w.put("/devices/new/operator", `{"operator":"Liz"}`).is(http.StatusOK)
	w.get("/devices?retired=true").equals(`{"items":[{"device":"old","state":"WARNING2",
		"severity":48,"time":"2020-04-24T10:00:00Z","received":"2020-04-24T12:00:00Z",
		"silent":false,"retired":"2020-04-24T12:00:00Z"}]}`)
	w.get("/devices?retired=true&device=old").is(http.StatusOK)
	if n := len(w.get("/devices?retired=true&device=ol").page().Items); n != 0 {
		t.Errorf("a part of an id found %d", n)
	}
	w.get("/devices?measuring=true").equals(`{"items":[
		{"device":"meter","severity":0,"time":"2020-04-24T11:00:00Z","silent":false}]}`)
	w.get("/devices?assigned=true").equals(`{"items":[
		{"device":"new","severity":0,"operator":"Liz","silent":false}]}`)
	if got := w.get("/devices").page().column("device"); !slices.Equal(got, []string{"older"}) {
		t.Errorf("listed: %v", got)
	}
	if body := w.get("/devices/older").is(http.StatusOK).body; !strings.Contains(body,
		`"last_retired":"2020-04-24T12:00:00Z"`) {
		t.Error(body)
	}
	w.event("free", "2020-04-24T11:00:00Z", "NORMAL")
	w.put("/devices/older/operator", `{"operator":"Liz"}`).is(http.StatusOK)
	if got := w.get("/devices?operator=none").page().column("device"); !slices.Equal(got,
		[]string{"free"}) {
		t.Errorf("without an operator: %v", got)
	}
	for query, want := range map[string]string{
		"retired=false": "query.retired", "retired=true&measuring=true": "only one",
		"retired=true&state=NORMAL": "query.state", "measuring=true&sort=since": "query.sort",
		"assigned=true&operator=none": "query.operator",
	} {
		w.get("/devices?"+query).fails(http.StatusBadRequest, want)
	}
}

// TestRestore: what people did comes back with its times, once, and what can't be right is rejected
// by its place.
func TestRestore(t *testing.T) {
	w := newWorld(t)
	const sent = `{"assignments":[
		{"device":"d","operator":"Liz","from":"2020-04-24T09:00:00Z"},
		{"device":"d","operator":null,"from":"2020-04-24T11:00:00Z"},
		{"device":"d","operator":"Liz","from":"2021-04-24T11:00:00Z"}],
		"retired":[{"device":"gone","retired":"2020-04-24T09:30:00Z"}]}`
	for range 2 {
		answer := parse(t, w.post("/restore", sent).is(http.StatusOK).body).(object)
		rejected := answer["rejected"].([]any)
		if answer["accepted"] != 3.0 || len(rejected) != 1 || rejected[0].(object)["index"] != 2.0 {
			t.Errorf("got %v", answer)
		}
	}
	w.event("d", "2020-04-24T10:00:00Z", "WARNING1")
	w.event("gone", "2020-04-24T09:00:00Z", "WARNING1")
	const escalations = `{"escalations":[
		{"device":"d","time":"2020-04-24T10:00:00Z","state":"WARNING1","to":null,
		"at":"2020-04-24T10:30:00Z","by":"Sara"},
		{"device":"d","time":"2020-04-24T10:00:00Z","state":"WARNING1","to":"Sara",
		"at":"2020-04-24T10:10:00Z","by":"Liz","note":"hot"},
		{"device":"d","time":"2020-04-24T10:00:00Z","state":"NORMAL","to":"Sara",
		"at":"2020-04-24T10:10:00Z"}]}`
	for range 2 {
		answer := parse(t, w.post("/restore", escalations).is(http.StatusOK).body).(object)
		if answer["accepted"] != 2.0 || len(answer["rejected"].([]any)) != 1 {
			t.Errorf("got %v", answer)
		}
	}
	w.get("/devices/d/escalations").equals(`{"items":[{"device":"d","time":"2020-04-24T10:00:00Z",
		"state":"WARNING1","operator":"Liz","escalations":[
		{"to":null,"at":"2020-04-24T10:30:00Z","by":"Sara"},
		{"to":"Sara","at":"2020-04-24T10:10:00Z","by":"Liz","note":"hot"}]}]}`)
	w.get("/devices/d/assignments").equals(`{"items":[
		{"device":"d","operator":null,"from":"2020-04-24T11:00:00Z"},
		{"device":"d","operator":"Liz","from":"2020-04-24T09:00:00Z",
		"to":"2020-04-24T11:00:00Z"}]}`)
	// Each is given whole, also where the span ends within it.
	w.get("/devices/d/assignments?to=2020-04-24T10:00:00Z").equals(`{"items":[
		{"device":"d","operator":"Liz","from":"2020-04-24T09:00:00Z",
		"to":"2020-04-24T11:00:00Z"}]}`)
	w.get("/devices/d/assignments?from=2020-04-24T12:00:00Z&to=2020-04-24T13:00:00Z").
		equals(`{"items":[{"device":"d","operator":null,"from":"2020-04-24T11:00:00Z"}]}`)
	w.get("/devices/gone").fails(http.StatusNotFound)
	w.post("/restore", `{"assignments":[{"device":"d","from":"2020-04-24"}]}`).
		fails(http.StatusBadRequest, "body.assignments[0].operator")
	w.post("/restore", `{"nothing":[]}`).fails(http.StatusBadRequest, "body.nothing")
}
