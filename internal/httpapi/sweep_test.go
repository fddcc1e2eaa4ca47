package httpapi_test

import (
	"net/http"
	"testing"
)

// TestSweep: a rehearsal says what a sweep then gives back, once.
func TestSweep(t *testing.T) {
	w := newWorld(t)
	w.setClock("2020-04-24T12:00:00Z")
	w.event("d", "2020-04-01T10:00:00Z", "WARNING1")
	const none = `{"items":[]}`
	w.post("/sweep", "").equals(none)
	w.put("/tenants/default", `{"retention":{"events":"2d"}}`)
	const due = `{"items":[{"tenant":"default","events_before":"2020-04-22T12:00:00Z"}]}`
	w.post("/sweep?dry_run=yes", "").fails(http.StatusBadRequest) // and nothing was swept
	w.post("/sweep?dry_run=true", "").equals(due)
	w.post("/sweep?dry_run=false", "").equals(due)
	w.post("/sweep", "").equals(none)
}

// TestFlags: a flag in a query is true, false, or refused: a sweep that was meant to be dry is not.
func TestFlags(t *testing.T) {
	w := newWorld(t)
	for name, send := range map[string]func(query string) answer{
		"dry_run": func(q string) answer { return w.post("/sweep?"+q, "") },
		"purge": func(q string) answer {
			return w.do(http.MethodDelete, base+"/devices/d?"+q, "")
		},
		"explain": func(q string) answer { return w.get("/devices?" + q) },
	} {
		for _, value := range []string{"yes", "1", "TRUE", "null", "True", "on", ""} {
			send(name+"="+value).fails(http.StatusBadRequest, name+" is true or false")
		}
	}
}

// TestFalseFlags: a flag that says false is as one that is absent: the device keeps its history.
func TestFalseFlags(t *testing.T) {
	w := newWorld(t)
	w.event("d", "2020-04-24T10:00:00Z", "WARNING1")
	w.do(http.MethodDelete, base+"/devices/d?purge=false", "").is(http.StatusOK)
	if n := len(w.get("/devices/d/events").is(http.StatusOK).page().Items); n != 1 {
		t.Errorf("%d entries are left of a device that was retired", n)
	}
}
