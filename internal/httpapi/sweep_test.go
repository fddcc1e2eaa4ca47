package httpapi_test

import "testing"

// TestSweep: a rehearsal says what a sweep then gives back, once.
func TestSweep(t *testing.T) {
	w := newWorld(t)
	w.at("2020-04-24T12:00:00Z")
	w.event("d", "2020-04-01T10:00:00Z", "WARNING1")
	const none = `{"items":[]}`
	w.post("/sweep", "").equals(none)
	w.put("/tenants/default", `{"retention":{"events":"2d"}}`)
	const due = `{"items":[{"tenant":"default","events_before":"2020-04-22T12:00:00Z"}]}`
	w.post("/sweep?dry_run=true", "").equals(due)
	w.post("/sweep", "").equals(due)
	w.post("/sweep", "").equals(none)
}
