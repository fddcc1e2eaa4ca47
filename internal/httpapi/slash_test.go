package httpapi_test

import (
	"testing"
)

// TestLoneSlash: "/" is an identifier like any other, in every place of a path.
func TestLoneSlash(t *testing.T) {
	w := newWorld(t)
	w.post("/events", `{"device":"/","time":"2020-04-24T11:00:00Z","state":"/","operator":"/",
		"escalated_to":"/"}`).is(200)
	for _, path := range []string{
		"/devices/%2F", "/devices/%2f/intervals", "/devices/%2F/events/2020-04-24T11:00:00Z/%2F",
	} {
		w.get(path).is(200)
	}
	for _, path := range []string{
		"/devices/%2F/events", "/operators/%2F/events", "/supervisors/%2F/events",
	} {
		if p := w.get(path).is(200).page(); len(p.Items) != 1 {
			t.Errorf("%s has %d items, want 1", path, len(p.Items))
		}
	}
	w.put("/devices/%2F/operator", `{"operator":"Liz"}`).is(200)
	w.get("/devices/%FF%2F%FF").fails(400, "not valid UTF-8")
	w.do("DELETE", base+"/devices/%2F", "").is(200)
	w.get("/devices/%2F").fails(404)
}
