package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
)

func TestTenants(t *testing.T) {
	w := newWorld(t)
	got := w.put("/tenants/plant%2F2", `{"retention":{"events":"90d"},"silent_after":"30m",
		"states":[{"name":"OK","severity":0},{"name":"BAD","severity":70,"colour":"#ff0000"}]}`)
	const plant = `{"tenant":"plant/2","retention":{"events":"90d","readings":"30d"},
		"max_future":"10m","silent_after":"30m","unknown_states":"refuse","states":[
		{"name":"OK","severity":0,"letter":"O","colour":"#2e7d32","symbol":"●"},
		{"name":"BAD","severity":70,"letter":"B","colour":"#ff0000","symbol":"■"}]}`
	got.is(http.StatusCreated).json(plant)
	if location := got.header.Get("Location"); location != base+"/tenants/plant%2F2" {
		t.Errorf("location %q", location)
	}
	w.get("/tenants/plant%2F2").equals(plant)
	changed := strings.Replace(plant, `"90d"`, `"forever"`, 1)
	w.put("/tenants/plant%2F2", `{"retention":{"events":"forever"}}`).equals(changed)
	w.put("/tenants/plant%2F2", changed).equals(changed) // what was read can be sent back
	p := w.get("/tenants?limit=1").page()
	for query, want := range map[string]string{
		"": "default,plant/2", "?limit=1": "default", "?cursor=" + p.Next: "plant/2",
	} {
		names := w.get("/tenants" + query).page().column("tenant")
		if got := strings.Join(names, ","); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	const broken = `{"device":"d","state":"BAD"}`
	w.post("/events", broken, "Andon-Tenant: plant/2").is(http.StatusOK)
	w.get("/devices/d", "Andon-Tenant: plant/2").is(http.StatusOK)
	w.get("/devices/d").fails(http.StatusNotFound)

	w.do(http.MethodDelete, base+"/tenants/plant%2F2", "").is(http.StatusNoContent)
	w.do(http.MethodDelete, base+"/tenants/plant%2F2", "").fails(http.StatusNotFound)
	w.do(http.MethodDelete, base+"/tenants/default", "").fails(http.StatusConflict)
	w.get("/tenants/plant%2F2").fails(http.StatusNotFound)
}

// TestUnknownStates: a tenant refuses states outside its set or accepts them; those that it accepts
// are named in the answer. A tenant that declares its states refuses others.
func TestUnknownStates(t *testing.T) {
	w := newWorld(t)
	const misspelt = `[{"device":"d","state":"BDA"},{"device":"d","state":"bad"},
		{"device":"d","state":"BAD"}]`
	w.post("/events", `{"device":"d","state":"normal"}`).
		equals(`{"accepted":1,"unknown_states":["normal"],"rejected":[]}`)
	w.post("/events", misspelt).equals(
		`{"accepted":3,"unknown_states":["BAD","BDA","bad"],"rejected":[]}`)
	w.put("/tenants/default", `{"unknown_states":"refuse"}`).is(http.StatusOK)
	w.post("/events", `{"device":"d","state":"normal"}`).fails(http.StatusBadRequest,
		"; did you mean NORMAL?")

	const set = `"states":[{"name":"OK","severity":0},{"name":"BAD","severity":70}]`
	w.put("/tenants/plant", "{"+set+"}").is(http.StatusCreated)
	w.post("/events", misspelt, "Andon-Tenant: plant").equals(`{"accepted":1,"rejected":[
		{"index":0,"error":"tenant \"plant\" has no state \"BDA\"; did you mean BAD?"},
		{"index":1,"error":"tenant \"plant\" has no state \"bad\"; did you mean BAD?"}]}`)
	w.put("/tenants/plant", `{"unknown_states":"accept"}`).is(http.StatusOK)
	w.put("/tenants/plant", "{"+set+"}").is(http.StatusOK)
	w.post("/events", misspelt, "Andon-Tenant: plant").
		equals(`{"accepted":3,"unknown_states":["BDA","bad"],"rejected":[]}`)
}

func TestWrongTenants(t *testing.T) {
	w := newWorld(t)
	const one = `{"name":"A","severity":0}`
	for sent, want := range map[string]string{
		`{"retention":{"events":"soon"}}`:                       "body.retention.events",
		`{"retention":{"event":"90d"}}`:                         "did you mean events?",
		`{"retention":{"events":90}}`:                           "can't be of type number",
		`{"retention":"90d"}`:                                   "body.retention",
		`{"max_future":"-1m"}`:                                  "body.max_future",
		`{"silent_after":"10000000d"}`:                          "body.silent_after",
		`{"silentafter":"1m"}`:                                  "did you mean silent_after?",
		`{"unknown_states":"maybe"}`:                            "body.unknown_states",
		`{"states":[{"name":"A","severity":1}]}`:                "no state of the set is normal",
		`{"states":[]}`:                                         "body.states",
		`{"states":[{"name":"A"}]}`:                             "body.states[0].severity",
		`{"states":[{"name":"A","severity":256}]}`:              "body.states[0].severity",
		`{"states":[{"name":"A","severity":-1}]}`:               "body.states[0].severity",
		`{"states":[{"name":"A,B","severity":1}]}`:              "body.states[0]",
		`{"states":[` + one + `,` + one + `]}`:                  "twice",
		`{"states":[{"name":"A","severity":0,"colour":"red"}]}`: "#rrggbb",
		`{"tenant":"other"}`:                                    "body.tenant",
	} {
		w.put("/tenants/new", sent).fails(http.StatusBadRequest, want)
	}
	w.get("/tenants/new").fails(http.StatusNotFound)

	w.event("d", "2020-04-24T10:00:00Z", "WARNING1")
	w.put("/tenants/default", `{"states":[{"name":"WARNING1","severity":0}]}`).is(http.StatusOK)
	if got := w.get("/devices/d").body; strings.Contains(got, "incident_since") {
		t.Errorf("got %s", got)
	}
}

// reordering is a store that applies changed severities after the call has returned.
type reordering struct {
	andon.Store
	done bool
}

func (b *reordering) Reorder(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	return b.Tenant(ctx, id)
}

func (b *reordering) Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	t, err := b.Store.Tenant(ctx, id)
	t.Reordering = !b.done
	return t, err
}

func (b *reordering) PutTenant(ctx context.Context, t andon.Tenant) (andon.Tenant, error) {
	t, err := b.Store.PutTenant(ctx, t)
	t.Reordering = true
	return t, err
}

// TestChangedSeveritiesBehindTheCall: where the store needs longer than a request, it says so.
func TestChangedSeveritiesBehindTheCall(t *testing.T) {
	b := &reordering{}
	w := newWorld(t, func(o *httpapi.Options) {
		b.Store = o.Store
		o.Store, o.Intake = b, newIntake(b, o.Now)
	})
	got := w.put("/tenants/default", `{"states":[{"name":"WARNING1","severity":0}]}`)
	got.is(http.StatusAccepted)
	read := w.get("/tenants/default")
	if !strings.Contains(read.body, `"reordering":true`) {
		t.Errorf("got %s", read.body)
	}
	w.put("/tenants/default", read.body).is(http.StatusAccepted)
	b.done = true
	if read = w.get("/tenants/default"); strings.Contains(read.body, "reordering") {
		t.Errorf("got %s", read.body)
	}
}
