package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

func TestDevice(t *testing.T) {
	w := newWorld(t)
	w.event("d1", "2020-04-24T11:00:00Z", "NORMAL")
	w.event("d1", "2020-04-24T11:05:00Z", "WARNING1")
	w.post("/events", `{"device":"d1","time":"2020-04-24T11:10:00Z","state":"WARNING1",
		"operator":"Liz","message":"hot","attributes":{"a":1}}`).is(http.StatusOK)
	const shown = `{"device":"d1","state":"WARNING1","severity":32,"since":"2020-04-24T11:05:00Z",
		"time":"2020-04-24T11:10:00Z","received":"2020-04-24T12:00:00Z","operator":"Liz",
		"incident_since":"2020-04-24T11:05:00Z","silent":false,"message":"hot",
		"attributes":{"a":1}}`
	w.get("/devices/d1").equals(shown)
	w.get("/devices").equals(`{"items":[` + shown + `]}`)
	w.get("/devices?device=d1").equals(`{"items":[` + shown + `]}`)

	w.setClock("2020-04-24T12:15:00.000001Z")
	w.event("d1", "2020-04-24T11:11:00Z", "NORMAL")
	w.get("/devices/d1").equals(`{"device":"d1","state":"NORMAL","severity":0,
		"since":"2020-04-24T11:11:00Z","time":"2020-04-24T11:11:00Z",
		"received":"2020-04-24T12:15:00.000001Z","silent":false}`)
	w.setClock("2020-04-24T12:31:00Z")
	if got := w.get("/devices/d1").body; !strings.Contains(got, `"silent":true`) {
		t.Errorf("got %s", got)
	}
	w.get("/devices/d2").fails(http.StatusNotFound, "d2")
}

func TestListOfDevices(t *testing.T) {
	w := newWorld(t)
	w.event("press-1", "2020-04-24T10:00:00Z", "NORMAL")
	w.event("press-2", "2020-04-24T10:01:00Z", "WARNING2")
	w.event("press*", "2020-04-24T10:02:00Z", "WARNING1")
	w.event("saw-1", "2020-04-24T09:00:00Z", "WARNING2")
	w.event("saw-2", "2020-04-24T09:30:00Z", "ODD")
	w.put("/devices/saw-1/operator", `{"operator":"Liz"}`).is(http.StatusOK)
	w.post("/devices/press-2/escalations", `{"to":"Sara"}`).is(http.StatusCreated)
	for query, want := range map[string]string{
		"":                           "press*,press-1,press-2,saw-1,saw-2",
		"?sort=device":               "press*,press-1,press-2,saw-1,saw-2",
		"?sort=since":                "saw-1,saw-2,press-1,press-2,press*",
		"?sort=severity":             "saw-1,press-2,press*,saw-2,press-1",
		"?state=WARNING2":            "press-2,saw-1",
		"?state=WARNING*":            "press*,press-2,saw-1",
		"?state=ODD,NORMAL":          "press-1,saw-2",
		"?device=press*":             "press*,press-1,press-2",
		"?device=press-1":            "press-1",
		"?device=press":              "",
		"?device=press-1&state=ODD":  "",
		"?device=press**":            "press*",
		"?device=*":                  "press*,press-1,press-2,saw-1,saw-2",
		"?operator=Liz":              "saw-1",
		"?escalated_to=Sara":         "press-2",
		"?operator=Liz&state=NORMAL": "",
		"?device=saw*&sort=severity": "saw-1,saw-2",
		"?limit=2":                   "press*,press-1",
		"?device=.*":                 "",
	} {
		p := w.get("/devices" + query).page()
		if got := strings.Join(p.column("device"), ","); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for _, sort := range []string{"device", "since", "severity"} {
		path, got := "/devices?limit=2&sort="+sort, []string(nil)
		for next := path; next != "" && len(got) < 50; {
			p := w.get(next).page()
			got = append(got, p.column("device")...)
			if next = ""; p.Next != "" {
				next = path + "&cursor=" + p.Next
			}
		}
		if diff := cmp.Diff(w.get("/devices?sort="+sort).page().column("device"), got); diff != "" {
			t.Error(sort, diff)
		}
	}
}

func TestStates(t *testing.T) {
	w := newWorld(t)
	w.put("/tenants/default", `{"unknown_states":"accept","states":[
		{"name":"OK","severity":0},{"name":"BAD","severity":90,"letter":"B",
		"colour":"#112233","symbol":"!"}]}`).is(http.StatusOK)
	w.get("/states").equals(`{"total":0,"silent":0,"items":[
		{"state":"OK","severity":0,"letter":"O","colour":"#2e7d32",
			"symbol":"●","count":0,"silent":0},
		{"state":"BAD","severity":90,"letter":"B","colour":"#112233",
			"symbol":"!","count":0,"silent":0}]}`)
	w.event("a", "2020-04-24T10:00:00Z", "OK")
	w.event("b", "2020-04-24T10:00:00Z", "STRANGE")
	w.event("c", "2020-04-24T10:00:00Z", "OK")
	w.get("/states").equals(`{"total":3,"silent":0,"items":[
		{"state":"OK","severity":0,"letter":"O","colour":"#2e7d32",
			"symbol":"●","count":2,"silent":0},
		{"state":"STRANGE","severity":16,"letter":"?","colour":"#546e7a",
			"symbol":"○","count":1,"silent":0},
		{"state":"BAD","severity":90,"letter":"B","colour":"#112233",
			"symbol":"!","count":0,"silent":0}]}`)
	w.setClock("2020-04-24T12:10:00Z")
	w.event("d", "2020-04-24T10:00:00Z", "OK")
	w.setClock("2020-04-24T12:20:00Z")
	for _, want := range []string{
		`"state":"OK",`, `"count":3,"silent":2}`, `"count":1,"silent":1}`, `"total":4,"silent":3}`,
	} {
		if got := w.get("/states").body; !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	for query, want := range map[string]string{
		"?silent=true": "a,b,c", "?silent=false": "d", "?silent=true&state=OK&sort=since": "a,c",
	} {
		p := w.get("/devices" + query).page()
		if got := strings.Join(p.column("device"), ","); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

func TestRetire(t *testing.T) {
	w := newWorld(t)
	w.event("d/1", "2020-04-24T10:00:00Z", "NORMAL")
	retire := func() answer { return w.do(http.MethodDelete, base+"/devices/d%2F1", "") }
	retire().equals(`{"device":"d/1","retired":"2020-04-24T12:00:00Z"}`)
	retire().fails(http.StatusNotFound)
	w.get("/devices/d%2F1").fails(http.StatusNotFound)
	if n := len(w.get("/devices/d%2F1/events").page().Items); n != 1 {
		t.Errorf("%d events", n)
	}
	w.event("d/1", "2020-04-24T12:00:01Z", "NORMAL")
	w.get("/devices/d%2F1").is(http.StatusOK)
}

func TestIntervals(t *testing.T) {
	w := newWorld(t)
	w.event("d", "2020-04-24T10:00:00Z", "NORMAL")
	w.event("d", "2020-04-24T10:05:00Z", "NORMAL")
	w.event("d", "2020-04-24T10:10:00Z", "WARNING1")
	w.event("d", "2020-04-24T10:10:00.5Z", "NORMAL")
	w.event("d", "2020-04-24T11:00:00Z", "NORMAL")
	const running = `{"state":"NORMAL","from":"2020-04-24T10:10:00.5Z","seconds":6599.5}`
	const warning = `{"state":"WARNING1","from":"2020-04-24T10:10:00Z",
		"to":"2020-04-24T10:10:00.5Z","seconds":0.5}`
	const first = `{"state":"NORMAL","from":"2020-04-24T10:00:00Z",
		"to":"2020-04-24T10:10:00Z","seconds":600}`
	items := func(all ...string) string { return `{"items":[` + strings.Join(all, ",") + `]}` }
	w.get("/devices/d/intervals").equals(items(running, warning, first))
	w.get("/devices/d/intervals?order=asc").equals(items(first, warning, running))
	w.get("/devices/d/intervals?state=WARNING*").equals(items(warning))
	w.get("/devices/d/intervals?to=2020-04-24T10:07:00Z").equals(items(first))
	p := w.get("/devices/d/intervals?limit=2").page()
	w.get("/devices/d/intervals?limit=2&cursor=" + p.Next).equals(items(first))

	// The history of the running run expires, its beginning is remembered.
	w.put("/tenants/default", `{"retention":{"events":"90m"}}`).is(http.StatusOK)
	w.get("/devices/d/intervals").equals(items(running))
	w.setClock("2020-04-24T09:00:00Z") // a clock that was set back
	if got := w.get("/devices/d/intervals").body; !strings.Contains(got, `"seconds":0`) {
		t.Errorf("got %s", got)
	}
	w.get("/devices/nobody/intervals").equals(`{"items":[]}`)
}

func TestOrdersThatAreFixed(t *testing.T) {
	w := newWorld(t)
	document := operations(w.document())
	for path, why := range map[string]string{
		"/devices": "`sort` names", "/tenants": "by id",
		"/metrics/{metric}/readings": "newest first",
	} {
		w.get(strings.Replace(path, "{metric}", "m", 1)+"?order=asc").
			fails(http.StatusBadRequest, "there is no order here", why, `"query.order"`)
		text, _ := document["GET "+base+path]["description"].(string)
		if !strings.Contains(text, "There is no `order`") || !strings.Contains(text, why) {
			t.Errorf("%s: %q", path, text)
		}
	}
}

func TestPurge(t *testing.T) {
	w := newWorld(t)
	w.event("d", "2020-04-24T10:00:00Z", "NORMAL")
	purge := func() answer { return w.do(http.MethodDelete, base+"/devices/d?purge=true", "") }
	purge().equals(`{"device":"d","purged":true}`)
	purge().fails(http.StatusNotFound, "nothing is kept")
	w.put("/devices/d/group", `{"group":"hall"}`).is(http.StatusOK)
	purge().equals(`{"device":"d","purged":true}`)
	purge().fails(http.StatusNotFound, "nothing is kept")
	if n := len(w.get("/devices/d/events").page().Items); n != 0 {
		t.Errorf("%d events", n)
	}
	w.do(http.MethodDelete, base+"/devices/d?purge=yes", "").fails(http.StatusBadRequest)
}

func TestWithdraw(t *testing.T) {
	w := newWorld(t)
	w.event("d", "2020-04-24T10:00:00Z", "NORMAL")
	w.event("d", "2020-04-24T11:00:00Z", "WARNING1")
	const entry = "/devices/d/events/2020-04-24T11:00:00Z/WARNING1"
	withdraw := func(body string) answer { return w.do(http.MethodDelete, base+entry, body) }
	const shown = `{"device":"d","time":"2020-04-24T11:00:00Z","state":"WARNING1","escalations":[],
		"withdrawn":{"at":"2020-04-24T12:00:00Z","by":"Liz","note":"wrong"}}`
	withdraw(`{"by":"Liz","note":"wrong"}`).equals(shown)
	withdraw("").equals(shown)
	w.get(entry).equals(shown)
	if got := w.get("/devices/d/events").page().column("state"); len(got) != 1 {
		t.Errorf("events %v", got)
	}
	if got := w.get("/devices/d").body; !strings.Contains(got, `"state":"NORMAL"`) {
		t.Errorf("got %s", got)
	}
	withdraw(`{"by":""}`).is(http.StatusOK)
	withdraw(`{"from":"Liz"}`).fails(http.StatusBadRequest)
	w.do(http.MethodDelete, base+"/devices/d/events/2020-04-24T11:00:00Z/WARNING2", "").
		fails(http.StatusNotFound, "has no entry")
	w.do(http.MethodDelete, base+"/devices/d/events/noon/WARNING2", "").
		fails(http.StatusBadRequest)
}

// TestStatesArePaged: a tenant that has more states than an answer holds is asked again.
func TestStatesArePaged(t *testing.T) {
	w := newWorld(t)
	const states = 2500
	var events []andon.Event
	for i := range states {
		events = append(events, andon.Event{
			Device: andon.DeviceID(fmt.Sprintf("d%04d", i)), Time: 1_587_722_400_000_000,
			State: andon.State(fmt.Sprintf("made up %04d", i)),
		})
	}
	if err := w.store.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
		t.Fatal(err)
	}
	first := w.get("/states").page()
	second := w.get("/states?cursor=" + first.Next).page()
	all := append(first.column("state"), second.column("state")...)
	const declared = 5
	if len(first.Items) != 2000 || len(all) != states+declared || second.Next != "" {
		t.Errorf("%d states on the first page, %d in all", len(first.Items), len(all))
	}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != states+declared {
		t.Errorf("%d of them are different", n)
	}
	w.get("/states?cursor=x").fails(http.StatusBadRequest, "query.cursor")
}
