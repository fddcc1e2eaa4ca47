package httpapi_test

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
)

// talking is a store that writes down what it would send to an engine.
type talking struct{ andon.Store }

func (s *talking) Capabilities() andon.Capabilities {
	c := s.Store.Capabilities()
	c.Explain = true
	return c
}

// sent writes a statement down, if somebody asked for it.
func sent(ctx context.Context, statement string, partition ...string) {
	if p := andon.PlanOf(ctx); p != nil {
		p.Add(andon.PlanStep{
			Statement: statement, Partition: partition, Consistency: "LOCAL_QUORUM", Rows: 2,
			Took: andon.Took(1_500_400 * time.Nanosecond),
		})
	}
}

func (s *talking) Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	sent(ctx, "SELECT record FROM tenants WHERE id = ?", string(id))
	return s.Store.Tenant(ctx, id)
}

func (s *talking) DeviceEvents(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	for _, day := range []string{"2", "1"} {
		sent(ctx, "SELECT * FROM events_by_device WHERE device = ? AND day = ?",
			string(device), day)
	}
	return s.Store.DeviceEvents(ctx, tenant, device, q)
}

func newTalking(t *testing.T) *world {
	return newWorld(t, func(o *httpapi.Options) { o.Store = &talking{o.Store} })
}

func TestExplain(t *testing.T) {
	w := newTalking(t)
	w.event("d", noon, "NORMAL")
	const path = "/devices/d/events"
	w.get(path + "?explain=true").equals(`{"statements":[
		{"statement":"SELECT record FROM tenants WHERE id = ?","partition":["default"],
		 "consistency":"LOCAL_QUORUM","times":1,"rows":2,"ms":1.5},
		{"statement":"SELECT * FROM events_by_device WHERE device = ? AND day = ?",
		 "partition":["d","2"],"consistency":"LOCAL_QUORUM","times":2,"rows":4,"ms":3.001}]}`)
	for _, asked := range []string{"?explain=false", ""} {
		if got := w.get(path + asked).page(); len(got.Items) != 1 {
			t.Errorf("%q: %v", asked, got)
		}
	}
	for _, asked := range []string{"?explain=yes", "?explain=", "?explain"} {
		w.get(path+asked).fails(400, "explain is true or false", "query.explain")
	}
	w.get(path+"?explain=true&limit=0").fails(400, "limit is 1 to")
	w.get("/devices/none?explain=true").fails(404)
	w.post("/readings/latest?explain=true", `{"devices":["d"]}`).equals(`{"statements":[]}`)
}

// TestExplainAPage: a cursor is of the same query, explained or not, and a plan has no next page.
func TestExplainAPage(t *testing.T) {
	w := newTalking(t)
	w.event("d", "2020-04-24T11:00:00Z", "NORMAL")
	w.event("d", "2020-04-24T11:10:00Z", "NORMAL")
	next := w.get("/devices/d/events?limit=1").page().Next
	got := w.get("/devices/d/events?limit=1&explain=true&cursor=" + next).is(http.StatusOK)
	if !strings.Contains(got.body, "statements") || got.header.Get("Link") != "" {
		t.Errorf("got %v, %s", got.header, got.body)
	}
	got = w.get("/devices/d/events?limit=1&explain=true").is(http.StatusOK)
	if got.header.Get("Link") != "" || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %v", got.header)
	}
}

// TestSerialExplainIsEverywhere that something is read; not where something is written.
func TestSerialExplainIsEverywhere(t *testing.T) {
	w := newTalking(t)
	w.event("d", noon, "NORMAL")
	w.post("/readings", `{"device":"d","time":"`+noon+`","metrics":{"t":1}}`).is(200)
	fill := strings.NewReplacer("{device}", "d", "{operator}", "Liz", "{supervisor}", "Sara",
		"{time}", noon, "{state}", "NORMAL", "{metric}", "t", "{tenant}", "default")
	for name, op := range operations(w.document()) {
		method, path, _ := strings.Cut(name, " ")
		described := strings.Contains(marshal(t, op), `"name":"explain"`)
		reads := strings.HasPrefix(path, base) && path != base+"/events/stream" &&
			path != base+"/session" && (method == http.MethodGet || path == base+"/readings/latest")
		if described != reads {
			t.Errorf("%s: the parameter is described: %v", name, described)
		}
		if method == http.MethodGet && reads {
			got := w.do(method, fill.Replace(path)+"?explain=true", "").is(http.StatusOK)
			if !strings.HasPrefix(got.body, `{"statements":[`) {
				t.Errorf("%s answers %s", name, got.body)
			}
		}
	}
	w.post("/events?explain=true", `{}`).fails(400, "no parameter")
	w.do(http.MethodGet, "/version?explain=true", "").fails(400, "no parameter")
}

// TestExplainUnsupported: a store that can't say what it sends does not answer as if it had.
func TestExplainUnsupported(t *testing.T) {
	w := newWorld(t)
	w.event("d", noon, "NORMAL")
	w.get("/devices/d/events?explain=true").fails(501, "this store (memory", "no explain")
}
