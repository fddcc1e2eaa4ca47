package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
)

// devicesIn are ids in an answer, in its order.
func devicesIn(body string) string {
	var ids []string
	for part := range strings.SplitSeq(body, `"device":"`) {
		if id, _, ok := strings.Cut(part, `"`); ok && !strings.HasPrefix(part, "{") {
			ids = append(ids, id)
		}
	}
	return strings.Join(ids, " ")
}

// newPlant is a world with devices in groups.
func newPlant(t *testing.T) *world {
	w := newWorld(t)
	for _, device := range []string{"press-1", "press-2", "robot-1", "robot-2"} {
		w.event(device, "2020-04-24T11:00:00Z", "NORMAL")
	}
	w.event("press-2", "2020-04-24T11:30:00Z", "WARNING2")
	w.post("/groups/devices", `[{"device":"press-1","group":"p/h1"},
		{"device":"press-2","group":"p/h2"},{"device":"robot-1","group":"q"},
		{"device":"","group":"q"},{"device":"x","group":"none"},{"device":"x"}]`).
		is(http.StatusOK)
	w.put("/devices/robot-1", `{"name":"Robot 1","labels":{"kind":"robot","b":"\"<"},
		"location":{"lat":52.5,"lon":13.4},"parent":"gateway-1"}`).is(http.StatusOK)
	return w
}

func TestGroups(t *testing.T) {
	w := newPlant(t)
	w.get("/groups").equals(`{"items":[
		{"group":"p","devices":2,"states":{"NORMAL":1,"WARNING2":1},"silent":0},
		{"group":"p/h1","devices":1,"states":{"NORMAL":1},"silent":0},
		{"group":"p/h2","devices":1,"states":{"WARNING2":1},"silent":0},
		{"group":"q","devices":1,"states":{"NORMAL":1},"silent":0}]}`)
	w.setClock("2020-04-24T12:20:00Z")
	w.get("/groups?under=p/h2").equals(`{"items":[
		{"group":"p/h2","devices":1,"states":{"WARNING2":1},"silent":1}]}`)
	w.put("/devices/press-2/group", `{"group":"q"}`).
		equals(`{"device":"press-2","group":"q"}`)
	w.put("/devices/robot-1/group", `{"group":null}`).is(http.StatusOK)
	w.get("/groups?under=q").equals(`{"items":[
		{"group":"q","devices":1,"states":{"WARNING2":1},"silent":1}]}`)
	for _, wrong := range []struct{ path, body, location, says string }{
		{"/group", `{"group":""}`, "body.group", "missing"},
		{"/group", `{}`, "body.group", "missing"},
		{"/group", `{"group":5}`, "body.group", "can't be of type number"},
		{"/group", `{"name":"a"}`, "body.name", "only group"},
		{"/group", `{"group":"a//b"}`, "body.group", "missing"},
		{"/group", `{"group":"none/a"}`, "body.group", "none"},
		{"", `{"group":"a//b"}`, "body.group", "missing"},
		{"", `{"group":5}`, "body.group", "group is a string"},
		{"", `{"group":"a","group":"b"}`, "body.group", "twice"},
		{"", `{"name":""}`, "body.name", "null takes it away"},
		{"", `{"labels":{"a":1}}`, "body.labels", "labels is an object of strings"},
		{"", `{"lables":{}}`, "body.lables", "did you mean labels?"},
		{"", `{"location":{"lat":91,"lon":0}}`, "body.location", "-90"},
		{"", `{"location":{"lat":"x","lon":0}}`, "body.location", "an object of lat and lon"},
		{"", `{"device":"x","name":"a"}`, "body.device", "the path names"},
		{"", `{"device":1,"name":"a"}`, "body.device", "device is 1"},
		{"", `{"parent":".."}`, "body.parent", "can't be"},
		{"", `[]`, "body", "one object"},
	} {
		p := w.put("/devices/robot-1"+wrong.path, wrong.body).fails(400, wrong.says)
		if len(p.Errors) != 1 || p.Errors[0].Location != wrong.location {
			t.Errorf("%s: got %+v, want %s", wrong.body, p.Errors, wrong.location)
		}
	}
	w.put("/devices/robot-1", `{"device":"robot\u002d1","group":"q"}`).is(http.StatusOK)
	w.post("/groups/devices", `{"device":"x","labels":1}`).fails(400, `"body.labels"`)
	w.put("/devices/robot-1/group", `{"group":"nonesuch/none"}`).is(http.StatusOK)
	w.get("/groups?under=none").fails(http.StatusBadRequest, "none")
}

func TestListsByGroup(t *testing.T) {
	w := newPlant(t)
	for query, want := range map[string]string{
		"group=p":                      "press-1 press-2",
		"group=p&state=WARNING*":       "press-2",
		"group=p&sort=severity":        "press-2 press-1",
		"group=p&device=press-1":       "press-1",
		"group=none&device=press-1":    "",
		"label=kind:no&device=press-1": "",
		"group=p&search=PRESS-2":       "press-2",
		"group=none":                   "robot-2",
		"label=kind:robot":             "robot-1",
		"label=kind:robot,b:\"<":       "robot-1",
		"label=kind:press":             "",
		"near=52.5,13.4&within=0m":     "robot-1",
		"near=52.51,13.4&within=1.2km": "robot-1",
		"near=52.51,13.4&within=1km":   "",
	} {
		if got := devicesIn(w.get("/devices?" + query).body); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"group=p/": "missing", "label=kind": `not \"kind\"`, "near=52.5,13.4": `not \"\"`,
		"within=2km": `not \"\"`, "near=52.5,181&within=2km": "near",
		"near=52,13&within=-1m": "within",
	} {
		w.get("/devices?"+query).fails(http.StatusBadRequest, want)
	}
	w.post("/events", `{"device":"press-1","time":"2020-04-24T11:05:00Z","state":"WARNING1",
		"operator":"Liz","escalated_to":"Sara"}`)
	w.post("/events", `{"device":"robot-2","time":"2020-04-24T11:05:00Z","state":"WARNING1",
		"operator":"Liz"}`)
	w.post("/readings", `[{"device":"robot-1","metrics":{"t":1}},
		{"device":"press-1","metrics":{"t":1}}]`)
	for path, want := range map[string]string{
		"/events?group=p&state=WARNING2":       "press-2",
		"/operators/Liz/events?group=p":        "press-1",
		"/supervisors/Sara/events?group=q":     "",
		"/metrics/t/readings?label=kind:robot": "robot-1",
	} {
		if got := devicesIn(w.get(path).body); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	w.get("/devices/robot-1").equals(`{"device":"robot-1","state":"NORMAL","severity":0,
		"since":"2020-04-24T11:00:00Z","time":"2020-04-24T11:00:00Z",
		"received":"2020-04-24T12:00:00Z","silent":false,"group":"q","name":"Robot 1",
		"labels":{"kind":"robot","b":"\"<"},"location":{"lat":52.5,"lon":13.4},
		"parent":"gateway-1"}`)
	w.put("/devices/robot-1", `{"labels":null,"location":null,"name":null}`).
		equals(`{"device":"robot-1","group":"q","parent":"gateway-1"}`)
	if got := w.get("/fleet?group=p").body; !strings.Contains(got, `["press-1",`) ||
		strings.Contains(got, "robot") {
		t.Errorf("got %s", got)
	}
	if got := w.get("/states?group=q").body; !strings.Contains(got, `"total":1,`) {
		t.Errorf("got %s", got)
	}
	if got := w.get("/states?label=kind:robot").body; !strings.Contains(got, `"total":0,`) {
		t.Errorf("got %s", got)
	}
}

func TestGroupRules(t *testing.T) {
	w := newPlant(t)
	w.get("/groups/rules").equals(`[]`)
	const rules = `[{"prefix":"robot-","group":"robots"},
		{"attribute":"line","equals":"L3","group":"l3"}]`
	w.put("/groups/rules", rules).equals(rules)
	w.get("/groups/rules").equals(rules)
	w.post("/events", `{"device":"x","state":"NORMAL","attributes":{"line":"L3"}}`)
	for path, want := range map[string]string{
		"/devices?group=robots": "robot-2", "/devices?group=l3": "x",
	} {
		if got := devicesIn(w.get(path).body); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	w.put("/groups/rules", `[{"group":"a"}]`).fails(http.StatusBadRequest, "prefix")
	w.put("/groups/rules", `[{"attribute":"line","group":"a"}]`).fails(http.StatusBadRequest,
		"body[0]", "rule 0: an attribute and equals belong together")
	w.put("/groups/rules", `[]`).equals(`[]`)
}

// TestGroupsAfterAWithdrawal: a rule goes by what the device would show without the entry.
func TestGroupsAfterAWithdrawal(t *testing.T) {
	w := newWorld(t)
	w.put("/groups/rules", `[{"attribute":"line","equals":"L1","group":"l1"},
		{"attribute":"line","equals":"L3","group":"l3"}]`).is(http.StatusOK)
	for _, e := range []string{
		`"a","time":"2020-04-24T10:01:00Z","attributes":{"line":"L1"}`,
		`"a","time":"2020-04-24T10:02:00Z","attributes":{"line":"L3"}`,
		`"b","time":"2020-04-24T10:01:00Z","attributes":{"line":"L1"}`,
		`"b","time":"2020-04-24T10:02:00Z","attributes":{"line":"L3"}`,
		`"b","time":"2020-04-24T10:03:00Z"`,
		`"c","time":"2020-04-24T10:01:00Z"`,
		`"c","time":"2020-04-24T10:02:00Z","attributes":{"line":"L3"}`,
		`"d","time":"2020-04-24T10:02:00Z","attributes":{"line":"L3"}`,
		`"d","time":"2020-04-24T10:03:00Z","attributes":{"line":"L3"}`,
		`"d","time":"2020-04-24T10:04:00Z"`,
	} {
		w.post("/events", `{"state":"NORMAL","device":`+e+`}`).is(http.StatusOK)
	}
	if got := devicesIn(w.get("/devices?group=l3").body); got != "a b c d" {
		t.Errorf("before: got %s", got)
	}
	for _, device := range []string{"a", "b", "c", "d"} {
		w.do(http.MethodDelete, base+"/devices/"+device+"/events/2020-04-24T10:02:00Z/NORMAL",
			"").is(http.StatusOK)
	}
	for group, want := range map[string]string{"l1": "a b", "l3": "d", "none": "c"} {
		if got := devicesIn(w.get("/devices?group=" + group).body); got != want {
			t.Errorf("%s: got %s, want %s", group, got, want)
		}
	}
}

func TestGroupsOfAFile(t *testing.T) {
	w := newPlant(t)
	const file = "name,group,device\nx,new/a,press-1\n,,press-2\n,a//b,press-2\nshort\n"
	w.post("/groups/devices", file, "Content-Type: text/csv").
		json(`{"accepted":2,"rejected":[
			{"index":2,"line":4,"error":"a name in the path of a group is missing"},
			{"index":3,"line":5,"error":"the row has 1 cells, not 3"}]}`)
	if got := devicesIn(w.get("/devices?group=new").body); got != "press-1" {
		t.Errorf("got %s", got)
	}
	w.post("/groups/devices", "a,b\n", "Content-Type: text/csv").
		fails(http.StatusBadRequest, "no column")
	w.post("/groups/devices", "device,hall\npress-1,new/a\n", "Content-Type: text/csv").
		fails(http.StatusBadRequest, "no column is one of group, name")
}

// TestProfilesThatAreNoJSON: a body is one object, an array or lines, as one of events is.
func TestProfilesThatAreNoJSON(t *testing.T) {
	w := newWorld(t)
	const one, lines = `{"device":"a","group":"p"}`, "Content-Type: application/x-ndjson"
	for body, want := range map[string]string{
		one + "," + one: "want the end", one + "\n" + one: "want the end",
		one + "]": "want the end",
		"":        "the body is empty", " \n": "the body is empty", "7": "want an object",
		`{"device":"a","group":"a//b"}`: "missing", `{"device":"a"`: "", `{"device":"a",}`: "",
	} {
		w.post("/groups/devices", body).fails(http.StatusBadRequest, want)
		if body != one+"\n"+one {
			w.put("/devices/a", body).fails(http.StatusBadRequest)
		}
	}
	w.post("/groups/devices", "", lines).fails(http.StatusBadRequest, "empty")
	w.post("/groups/devices", one+"\n"+one, lines).equals(`{"accepted":2,"rejected":[]}`)
	w.post("/groups/devices", " {\n\"device\":\"a\",\n\"group\":null\n}\n").
		equals(`{"accepted":1,"rejected":[]}`)
	w.post("/groups/devices", "[]").equals(`{"accepted":0,"rejected":[]}`)
}

func TestStreamOfAGroup(t *testing.T) {
	w := newPlant(t)
	s := w.stream("?group=p").begun()
	w.event("robot-1", "2020-04-24T11:40:00Z", "WARNING1")
	w.event("press-1", "2020-04-24T11:40:00Z", "WARNING1")
	if e, _ := s.next(); !strings.Contains(e.data, `"group":"p/h1"`) {
		t.Errorf("got %+v", e)
	}
	w.put("/devices/robot-1/group", `{"group":"p/h1/l"}`).is(http.StatusOK)
	w.setClock("2020-04-24T12:01:00Z")
	if e, _ := s.next(); e.event != "reset" {
		t.Errorf("got %+v", e)
	}
}

// TestStreamLearnsAttributes: a change shows the group that its attributes put the device in, also
// where another process stored it.
func TestStreamLearnsAttributes(t *testing.T) {
	w := newWorld(t)
	w.put("/groups/rules", `[{"attribute":"line","equals":"L1","group":"l1"}]`).is(http.StatusOK)
	s := w.stream("").begun()
	for i, line := range []string{"L1", "L2"} {
		now := andon.Time(w.now.Load())
		err := w.store.Append(t.Context(), andon.DefaultTenant, now, []andon.Event{{
			Device: "x", State: andon.State(fmt.Sprint("WARNING", i+1)), Time: now + andon.Time(i),
			Attributes: andon.JSON(`{"line":"` + line + `"}`),
		}})
		if err != nil {
			t.Fatal(err)
		}
		e, ok := s.next()
		if grouped := strings.Contains(e.data, `"group":"l1"`); !ok || grouped != (line == "L1") {
			t.Errorf("line %s: %+v", line, e)
		}
	}
}

// groupless is a store that has no place for records.
type groupless struct{ andon.Store }

func (g groupless) Capabilities() andon.Capabilities {
	all := g.Store.Capabilities()
	all.Whole = false
	return all
}

func TestGroupsThatAreNotServed(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) {
		o.Store = groupless{o.Store}
		o.Intake = intake.New(o.Store, intake.Options{Now: o.Now})
	})
	w.event("d", "2020-04-24T11:00:00Z", "NORMAL")
	w.get("/devices/d").is(http.StatusOK)
	for _, path := range []string{
		"/groups", "/groups/devices", "/groups/rules", "/devices?group=p", "/states?label=a:b",
	} {
		w.get(path).fails(http.StatusNotImplemented, "no place for groups")
	}
	w.put("/devices/d/group", `{"group":"p"}`).fails(http.StatusNotImplemented, "no place")
}

func TestGroupsOfRemovedDevices(t *testing.T) {
	w := newPlant(t)
	w.do(http.MethodDelete, base+"/devices/press-1", "").is(http.StatusOK)
	w.event("press-1", "2020-04-24T12:05:00Z", "NORMAL")
	w.get("/groups?under=p").equals(`{"items":[
		{"group":"p","devices":1,"states":{"WARNING2":1},"silent":0},
		{"group":"p/h2","devices":1,"states":{"WARNING2":1},"silent":0}]}`)
}
