package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestSearch: a text is found in ids, messages and people, in any case and together with other
// filters.
func TestSearch(t *testing.T) {
	w := newWorld(t)
	w.post("/events", `[
		{"device":"PRESS-1","time":"2020-04-24T10:00:00Z","state":"NORMAL"},
		{"device":"oven","time":"2020-04-24T10:01:00Z","state":"WARNING2",
			"message":"Druck Ölpresse"},
		{"device":"saw-1","time":"2020-04-24T10:02:00Z","state":"WARNING1",
			"operator":"Jo Pressman"},
		{"device":"saw-2","time":"2020-04-24T10:03:00Z","state":"WARNING1"},
		{"device":"saw-3","time":"2020-04-24T10:04:00Z","state":"WARNING3"}]`).is(http.StatusOK)
	w.post("/devices/saw-2/escalations", `{"to":"Ms. Pressly"}`).is(http.StatusCreated)
	for query, want := range map[string]string{
		"?search=press":                        "PRESS-1,oven,saw-1,saw-2",
		"?search=ress-1":                       "PRESS-1",
		"?search=%C3%96LP":                     "oven",
		"?search=press&sort=severity":          "oven,saw-1,saw-2,PRESS-1",
		"?search=press&state=WARNING1,NORMAL":  "PRESS-1,saw-1,saw-2",
		"?search=press&operator=Jo+Pressman":   "saw-1",
		"?search=press&device=saw*":            "saw-1,saw-2",
		"?search=press&device=saw-2":           "saw-2",
		"?search=press&device=saw-3":           "",
		"?search=nothing":                      "",
		"?search=":                             "PRESS-1,oven,saw-1,saw-2,saw-3",
		"?search=saw&limit=2&sort=since":       "saw-1,saw-2",
		"?search=press&silent=false&limit=100": "PRESS-1,oven,saw-1,saw-2",
	} {
		got := strings.Join(w.get("/devices"+query).page().column("device"), ",")
		if got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	w.get("/devices?search=x&retired=true").fails(http.StatusBadRequest, "query.search")
}

// TestSerialSearchOfALargeFleet: a request looks at some of the devices only, and the pages lead to
// all that there is to find, each once.
func TestSerialSearchOfALargeFleet(t *testing.T) {
	w := newWorld(t)
	const devices = 25_000
	for i := 0; i < devices; i += 5000 {
		var body strings.Builder
		for j := i; j < i+5000; j++ {
			fmt.Fprintf(&body,
				`{"device":"d%05d","time":"2020-04-24T10:00:00Z","state":"NORMAL"}`+"\n", j)
		}
		w.post("/events", body.String(), "Content-Type: application/x-ndjson").is(http.StatusOK)
	}
	for query, want := range map[string]string{
		"/devices?search=D2012": "d20120,d20121,d20122,d20123,d20124,d20125,d20126," +
			"d20127,d20128,d20129",
		"/devices?search=4999&sort=since": "d04999,d14999,d24999",
		"/devices?search=4999&limit=1":    "d04999,d14999,d24999",
	} {
		var all []string
		pages := 0
		for path := query; path != "" && pages < 10; pages++ {
			p := w.get(path).page()
			all = append(all, p.column("device")...)
			if path = ""; p.Next != "" {
				path = query + "&cursor=" + p.Next
			}
		}
		if got := strings.Join(all, ","); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		if pages < 2 {
			t.Errorf("%s: %d pages", query, pages)
		}
	}
}
