package httpapi_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
)

func TestAssignments(t *testing.T) {
	w := newWorld(t)
	w.put("/devices/d%23/operator", `{"operator":"Liz"}`).
		equals(`{"device":"d#","operator":"Liz","from":"2020-04-24T12:00:00Z"}`)
	w.setClock("2020-04-24T13:00:00Z")
	w.put("/devices/d%23/operator", `{"operator":null}`).
		equals(`{"device":"d#","operator":null,"from":"2020-04-24T13:00:00Z"}`)
	w.setClock("2020-04-24T14:00:00Z")
	w.post("/assignments", `[{"device":"d#","operator":"Bob"},{"device":"e","operator":null},
		{"device":"","operator":"x"},{"device":"f"}]`).is(http.StatusOK)
	w.get("/devices/d%23/assignments").equals(`{"items":[
		{"device":"d#","operator":"Bob","from":"2020-04-24T14:00:00Z"},
		{"device":"d#","operator":null,"from":"2020-04-24T13:00:00Z","to":"2020-04-24T14:00:00Z"},
		{"device":"d#","operator":"Liz","from":"2020-04-24T12:00:00Z","to":"2020-04-24T13:00:00Z"}
		]}`)
	p := w.get("/devices/d%23/assignments?order=asc&limit=2").page()
	w.get("/devices/d%23/assignments?order=asc&limit=2&cursor=" + p.Next).equals(`{"items":[
		{"device":"d#","operator":"Bob","from":"2020-04-24T14:00:00Z"}]}`)
	w.get("/devices/nobody/assignments").equals(`{"items":[]}`)
}

func TestAssignmentsAreAccountedFor(t *testing.T) {
	w := newWorld(t)
	got := w.post("/assignments", "{\"device\":\"a\",\"operator\":\"Liz\"}\n\n{\"device\":\"b\"}\n",
		"Content-Type: application/x-ndjson").is(http.StatusOK)
	account := parse(t, got.body).(map[string]any)
	rejected := account["rejected"].([]any)
	if account["accepted"] != 1.0 || len(rejected) != 1 || rejected[0].(object)["line"] != 3.0 {
		t.Errorf("got %s", got.body)
	}
	w.post("/assignments", `{"device":"a","operator":"x","until":"tomorrow"}`).fails(400)
	w.post("/assignments", `[]`).equals(`{"accepted":0,"rejected":[]}`)
	w.post("/assignments", `[{"device":"\u0000","operator":"x"}]`).is(http.StatusOK)
}

// What is so already adds nothing: a request that is sent again after a timeout does not falsify
// the history.
func TestPeopleAgain(t *testing.T) {
	w := newWorld(t)
	w.event("d", "2020-04-24T11:00:00Z", "WARNING2")
	const e = "/devices/d/escalations"
	w.post(e, `{"to":null}`).equals(`{"device":"d","time":"2020-04-24T11:00:00Z",
		"state":"WARNING2","to":null}`)
	w.post(e, `{"to":"Sara","by":"Liz"}`).is(http.StatusCreated)
	w.put("/devices/d/operator", `{"operator":"Liz"}`).is(http.StatusOK)
	w.setClock("2020-04-24T13:00:00Z")
	got := w.post(e, `{"to":"Sara","by":"Liz"}`)
	got.equals(`{"device":"d","time":"2020-04-24T11:00:00Z","state":"WARNING2","to":"Sara",
		"at":"2020-04-24T12:00:00Z","by":"Liz"}`)
	if got.header.Get("Location") == "" {
		t.Error("there is no Location")
	}
	w.put("/devices/d/operator", `{"operator":"Liz"}`).
		equals(`{"device":"d","operator":"Liz","from":"2020-04-24T12:00:00Z"}`)
	w.post("/assignments", `[{"device":"d","operator":"Liz"}]`).
		equals(`{"accepted":1,"rejected":[]}`)
	w.get("/devices/d/assignments").equals(`{"items":[
		{"device":"d","operator":"Liz","from":"2020-04-24T12:00:00Z"}]}`)
	w.post(e, `{"to":"Sara","by":"Liz","note":"come"}`).is(http.StatusCreated) // says more
	w.post(e, `{"to":null}`).is(http.StatusCreated)
	w.setClock("2020-04-24T14:00:00Z")
	w.post(e, `{"to":null,"time":"2020-04-24T11:00:00Z","state":"WARNING2"}`).is(http.StatusOK)
	w.get("/devices/d/events/2020-04-24T11:00:00Z/WARNING2").equals(`{"device":"d",
		"time":"2020-04-24T11:00:00Z","state":"WARNING2","escalations":[
		{"to":null,"at":"2020-04-24T13:00:00.000001Z"},
		{"to":"Sara","at":"2020-04-24T13:00:00Z","by":"Liz","note":"come"},
		{"to":"Sara","at":"2020-04-24T12:00:00Z","by":"Liz"}]}`)
}

// An empty name is neither a person nor no one.
func TestEmptyNamesAreRefused(t *testing.T) {
	w := newWorld(t)
	w.post("/events", `{"device":"d","state":"WARNING2","operator":"Liz","escalated_to":"Sara"}`).
		is(http.StatusOK)
	w.put("/devices/d/operator", `{"operator":"Tom"}`).is(http.StatusOK)
	w.put("/devices/d/operator", `{"operator":""}`).fails(400, "body.operator", "null unassigns")
	w.post("/assignments", `{"device":"d","operator":""}`).fails(400, "body.operator")
	w.post("/devices/d/escalations", `{"to":""}`).fails(400, "body.to", "null withdraws")
	got := parse(t, w.get("/devices/d").is(http.StatusOK).body).(object)
	if got["operator"] != "Tom" || got["escalated_to"] != "Sara" {
		t.Errorf("the device shows %v", got)
	}
}

func TestEscalations(t *testing.T) {
	w := newWorld(t)
	w.event("d 1", "2020-04-24T10:00:00Z", "A/B")
	w.event("d 1", "2020-04-24T10:01:00Z", "WARNING2")
	got := w.post("/devices/d%201/escalations",
		`{"to":"Sara","by":"Liz","note":"look","time":null}`)
	got.is(http.StatusCreated).json(`{"device":"d 1",
		"time":"2020-04-24T10:01:00Z","state":"WARNING2",
		"to":"Sara","at":"2020-04-24T12:00:00Z","by":"Liz","note":"look"}`)
	w.do(http.MethodGet, got.header.Get("Location"), "").equals(`{"device":"d 1",
		"time":"2020-04-24T10:01:00Z","state":"WARNING2","escalated_to":"Sara",
		"escalations":[{"to":"Sara","at":"2020-04-24T12:00:00Z","by":"Liz","note":"look"}]}`)
	got = w.post("/devices/d%201/escalations",
		`{"to":"Sara","time":"2020-04-24T10:00:00Z","state":"A/B"}`)
	w.do(http.MethodGet, got.is(http.StatusCreated).header.Get("Location"), "").is(http.StatusOK)
	if n := len(w.get("/supervisors/Sara/events").page().Items); n != 2 {
		t.Errorf("%d events", n)
	}
	w.setClock("2020-04-24T12:01:00Z")
	w.post("/devices/d%201/escalations", `{"to":null}`).is(http.StatusCreated)
	w.get("/devices/d%201/events/2020-04-24T10:01:00Z/WARNING2").equals(`{"device":"d 1",
		"time":"2020-04-24T10:01:00Z","state":"WARNING2",
		"escalations":[{"to":null,"at":"2020-04-24T12:01:00Z"},
		{"to":"Sara","at":"2020-04-24T12:00:00Z","by":"Liz","note":"look"}]}`)

	w.post("/devices/d%201/escalations", `{"note":"no to"}`).fails(http.StatusBadRequest, "body.to")
	w.post("/devices/d%201/escalations", `{"to":"x","state":"A/B"}`).fails(400, "body.time")
	w.post("/devices/d%201/escalations", `{"to":"x","time":"soon","state":"A/B"}`).
		fails(http.StatusBadRequest, "body.time")
	w.post("/devices/d%201/escalations", `{"to":"x","time":"2020-04-24T10:09:00Z","state":"A/B"}`).
		fails(http.StatusNotFound)
	w.post("/devices/nobody/escalations", `{"to":"x"}`).fails(http.StatusNotFound)
	w.get("/devices/d%201/events/2020-04-24T10:01:00Z/NORMAL").fails(http.StatusNotFound)
}

// An assignment is in the range if it holds at an instant of it, [from, to) as it is.
func TestAssignmentsOfATime(t *testing.T) {
	w := newWorld(t)
	for _, who := range []string{"A", "B", "C", "D"} {
		w.put("/devices/d/operator", `{"operator":"`+who+`"}`).is(http.StatusOK)
		w.now.Add(int64(time.Hour / time.Microsecond)) // 12:00, 13:00, 14:00, 15:00
	}
	for query, want := range map[string]string{
		"":                                     "DCBA",
		"?from=2020-04-24T14:30:00Z":           "DC",
		"?from=2020-04-24T14:00:00Z":           "DC", // B ended just then
		"?to=2020-04-24T14:00:00Z":             "CBA",
		"?to=2020-04-24T13:59:59Z":             "BA",
		"?to=2020-04-24T11:00:00Z":             "",
		"?from=2020-04-24T14:00:00Z&order=asc": "CD",
		"?from=2020-05-01":                     "D",
		"?to=2020-04-24":                       "DCBA",
		"?from=2020-04-24T13:10:00Z&to=2020-04-24T13:20:00Z":           "B",
		"?from=2020-04-24T13:10:00Z&to=2020-04-24T14:20:00Z&order=asc": "BC",
	} {
		path := "/devices/d/assignments" + query
		if got := strings.Join(w.get(path).page().column("operator"), ""); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		if query == "" {
			continue
		}
		got := ""
		for next := path + "&limit=1"; next != ""; {
			p := w.get(next).page()
			got += strings.Join(p.column("operator"), "")
			if next = ""; p.Next != "" {
				next = path + "&limit=1&cursor=" + p.Next
			}
		}
		if got != want {
			t.Errorf("%s by pages: %s, want %s", query, got, want)
		}
	}
	w.get("/devices/d/assignments?from=2020-04-25&to=2020-04-24").fails(400, "is after to")
}

// An entry that has expired looks like one that never was.
func TestExpiredEntryIsNone(t *testing.T) {
	w := newWorld(t)
	w.event("d", "2020-04-24T10:00:00Z", "A")
	w.event("d", "2020-04-24T11:59:00Z", "A")
	w.put("/tenants/default", `{"retention":{"events":"90m"}}`).is(http.StatusOK)
	answers := func(at string) (texts [2]string) {
		got := w.get("/devices/d/events/" + at + "/A")
		texts[0] = got.fails(http.StatusNotFound, "no entry").Detail
		got = w.post("/devices/d/escalations", `{"to":"x","state":"A","time":"`+at+`"}`)
		texts[1] = got.fails(http.StatusNotFound, "no entry").Detail
		for i := range texts {
			texts[i] = strings.ReplaceAll(texts[i], at, "then")
		}
		return texts
	}
	expired, never := answers("2020-04-24T10:00:00Z"), answers("2020-04-24T11:58:00Z")
	if expired != never || expired[0] != expired[1] {
		t.Errorf("expired: %q, never there: %q", expired, never)
	}
	w.get("/devices/d/events/2020-04-24T10:00:00Z/A", "Andon-Tenant: none").fails(404, "tenant")
	w.post("/devices/d/escalations", `{"to":"x","state":"A","time":"2020-04-24"}`,
		"Andon-Tenant: none").fails(404, "tenant")
}

// TestEscalationsAreInEveryList: who looks at a list sees when something was escalated to a
// supervisor, by whom, and why; of several records the newest.
func TestEscalationsAreInEveryList(t *testing.T) {
	w := newWorld(t)
	w.event("d", "2020-04-24T11:00:00Z", "WARNING2")
	w.put("/devices/d/operator", `{"operator":"Tom"}`).is(http.StatusOK)
	w.event("d", "2020-04-24T12:00:00.5Z", "WARNING2")
	for n, note := range []string{"first", "second"} {
		sent := fmt.Sprintf(`{"to":"Sara","by":"Liz","note":%q}`, note)
		w.post("/devices/d/escalations", sent).is(http.StatusCreated)
		want := fmt.Sprintf(`"escalation":{"at":"2020-04-24T12:00:0%d`, n)
		for _, path := range []string{
			"/devices/d", "/devices", "/devices?escalated_to=Sara", "/devices/d/events",
			"/operators/Tom/events", "/supervisors/Sara/events", "/events",
		} {
			got := w.get(path)
			got.is(http.StatusOK)
			if !strings.Contains(got.body, want) ||
				!strings.Contains(got.body, `"by":"Liz","note":"`+note+`"}`) {
				t.Errorf("%s: %s, want %s by Liz: %s", path, got.body, want, note)
			}
		}
		w.setClock("2020-04-24T12:00:01Z")
	}
}

// noting is a store whose list of a device notes an escalation.
type noting struct{ andon.Store }

func (n noting) DeviceEvents(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return func(yield func(andon.Event, error) bool) {
		for e, err := range n.Store.DeviceEvents(ctx, id, device, q) {
			andon.NoteEscalation(ctx, andon.Escalation{
				Device: device, Time: e.Time, State: e.State, At: 1e15, To: "Sara", Note: "noted",
			})
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestEscalationsAreReadOnce: what a list has read of an escalation is not asked for again.
func TestEscalationsAreReadOnce(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) { o.Store = noting{o.Store} })
	w.event("d", "2020-04-24T11:00:00Z", "WARNING2")
	w.post("/devices/d/escalations", `{"to":"Sara","note":"kept"}`).is(http.StatusCreated)
	if got := w.get("/devices/d/events"); !strings.Contains(got.body, `"note":"noted"`) {
		t.Errorf("the list has %s", got.body)
	}
}
