package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/store/wrap"
)

// audited is a world whose audit lines a test reads.
type audited struct {
	*world
	log bytes.Buffer
}

func newAudited(t *testing.T, change ...func(*httpapi.Options)) *audited {
	a := &audited{}
	use := func(o *httpapi.Options) {
		o.Intake = intake.New(o.Store, intake.Options{
			Now: o.Now, Audit: app.AuditTo(slog.NewJSONHandler(&a.log, nil)),
		})
	}
	a.world = newWorld(t, append(change, use)...)
	return a
}

// lines returns what was written since it was asked last, without what differs from run to run.
func (a *audited) lines() (all []string) {
	a.Helper()
	for text := range strings.Lines(a.log.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil || line["msg"] != "audit" {
			a.Fatalf("%v: %s", err, text)
		}
		if remote, _ := line["remote"].(string); !strings.HasPrefix(remote, "127.0.0.1:") {
			a.Errorf("remote is %q", remote)
		}
		for _, name := range []string{"time", "level", "msg"} {
			if strings.Count(text, `"`+name+`":`) != 1 {
				a.Errorf("%s is not there once: %s", name, text)
			}
			delete(line, name)
		}
		delete(line, "remote")
		shown, _ := json.Marshal(line)
		all = append(all, string(shown))
	}
	a.log.Reset()
	return all
}

// wrote compares the lines since the last time.
func (a *audited) wrote(want ...string) {
	a.Helper()
	var got, wanted []any
	for _, line := range a.lines() {
		got = append(got, parse(a, line))
	}
	for _, line := range want {
		wanted = append(wanted, parse(a, line))
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		a.Errorf("audit lines (-want +got):\n%s", diff)
	}
}

const id = "X-Request-Id: r1"

func TestAuditAssignments(t *testing.T) {
	w := newAudited(t)
	head := `"what":"assign","outcome":"done","who":"loopback","request_id":"r1","tenant":"default"`
	w.put("/devices/d/operator", `{"operator":"Liz"}`, id).is(http.StatusOK)
	w.wrote(`{` + head + `,"device":"d","after":"Liz","from":"` + noon + `"}`)
	w.put("/devices/d/operator", `{"operator":null}`, id).is(http.StatusOK)
	w.wrote(`{` + head + `,"device":"d","after":"",
		"from":"2020-04-24T12:00:00.000001Z"}`)
	// Of one list each has a line.
	w.post("/assignments", `[{"device":"e","operator":"Ann"},{"device":"e","operator":"Bob"},
		{"device":"","operator":"Eve"}]`, id).is(http.StatusOK)
	w.wrote(
		`{`+head+`,"device":"e","after":"Ann","from":"`+noon+`"}`,
		`{`+head+`,"device":"e","after":"Bob","from":"2020-04-24T12:00:00.000001Z"}`)
	// What is refused changes nothing.
	w.put("/devices/d/operator", `{"operator":7}`).is(http.StatusBadRequest)
	w.put("/devices/d/operator", `{"operator":"Liz"}`, "Andon-Tenant: none").is(http.StatusNotFound)
	w.get("/devices/d/assignments").is(http.StatusOK)
	w.wrote()
}

func TestAuditEscalations(t *testing.T) {
	w := newAudited(t)
	w.event("d", "2020-04-24T11:00:00Z", "WARNING1")
	w.wrote()
	head := `"what":"escalate","outcome":"done","who":"loopback","request_id":"r1",` +
		`"tenant":"default","device":"d","entry_time":"2020-04-24T11:00:00Z","state":"WARNING1"`
	w.post("/devices/d/escalations", `{"to":"Sara","by":"Liz","note":"a secret"}`,
		id).is(http.StatusCreated)
	w.wrote(`{` + head + `,"after":"Sara","by":"Liz","at":"` + noon + `"}`)
	w.post("/devices/d/escalations", `{"to":null}`, id).is(http.StatusCreated)
	w.wrote(`{` + head + `,"after":"","by":"","at":"2020-04-24T12:00:00.000001Z"}`)
	w.post("/devices/none/escalations", `{"to":"Sara"}`).is(http.StatusNotFound)
	w.wrote()
	// An event can escalate its entry: a machine's word, and no decision.
	w.post("/events", `[
		{"device":"d","time":"2020-04-24T11:30:00Z","state":"WARNING2","escalated_to":"Tom"}]`,
		id).is(http.StatusOK)
	w.wrote()
}

// TestAuditDocuments: each document that is made, changed or deleted has a line, whatever request
// did so; what is refused or changes nothing has none.
func TestAuditDocuments(t *testing.T) {
	w := newAudited(t, withDocuments, func(o *httpapi.Options) {
		o.Documents.Changed = func(ctx context.Context, t andon.TenantID, k people.DocumentKind,
			d records.Document, err error,
		) {
			o.Intake.Document(ctx, t, k.One(), d.Name, d.Before, d.Version, err)
		}
	})
	line := func(what, kind, name string, version int) string {
		return fmt.Sprintf(`{"what":"%s document","outcome":"done","who":"loopback",
			"request_id":"r1","tenant":"default","kind":%q,"name":%q,"version":%d}`,
			what, kind, name, version)
	}
	for i, name := range []string{"Liz", "Bob"} { // versions count all records of this store
		w.put("/people/"+name, `{}`, id).is(http.StatusCreated)
		w.wrote(line("create", "person", name, 2+i))
	}
	schedule := func(people string) string {
		return `{"layers":[{"people":[` + people + `],"from":"2020-01-01","turn":"1d",
			"hand_over":"06:00"}]}`
	}
	w.put("/schedules/s", schedule(`"Liz"`), id).is(http.StatusCreated)
	w.wrote(line("create", "schedule", "s", 4))
	w.put("/schedules/s", schedule(`"Liz"`), id).is(http.StatusOK)
	w.put("/schedules/s", `{"wrong":1}`, id).is(http.StatusBadRequest)
	w.wrote()
	w.put("/schedules/s", schedule(`"Liz","Bob"`), id).is(http.StatusOK)
	w.wrote(line("change", "schedule", "s", 5))
	w.post("/schedules/s/overrides", `{"person":"Bob","from":"2020-04-25T00:00:00Z",
		"to":"2020-04-26T00:00:00Z"}`, id).is(http.StatusOK)
	w.wrote(line("change", "schedule", "s", 6))
	apply := `{"documents":[{"kind":"policy","name":"p","content":{"match":{},"steps":[
		{"after":"5m","to":"schedule s"}]}}]}`
	w.post("/documents?dry_run=true", apply, id).is(http.StatusOK)
	w.wrote()
	w.post("/documents", apply, id).is(http.StatusOK)
	w.wrote(line("create", "policy", "p", 7))
	w.do(http.MethodDelete, base+"/schedules/s", "", id).is(http.StatusConflict)
	w.wrote()
	w.do(http.MethodDelete, base+"/policies/p", "", id).is(http.StatusNoContent)
	w.wrote(line("delete", "policy", "p", 7))
}

func TestAuditRetirement(t *testing.T) {
	w := newAudited(t)
	w.event("d", "2020-04-24T11:00:00Z", "WARNING1")
	w.put("/devices/d/operator", `{"operator":"Liz"}`).is(http.StatusOK)
	w.lines()
	w.do(http.MethodDelete, base+"/devices/d", "", id).is(http.StatusOK)
	w.wrote(`{"what":"retire","outcome":"done","who":"loopback","request_id":"r1",
		"tenant":"default","device":"d",
		"retired":"` + noon + `"}`)
	w.do(http.MethodDelete, base+"/devices/d", "").is(http.StatusNotFound)
	w.wrote()
}

func TestAuditTenants(t *testing.T) {
	w := newAudited(t, func(o *httpapi.Options) { o.Token = "hunter2" })
	token := "Authorization: Bearer hunter2"
	head := `"outcome":"done","who":"token","request_id":"r1","tenant":"plant"`
	w.put("/tenants/plant", `{"retention":{"events":"90d"},"states":[{"name":"OK","severity":0}]}`,
		id, token).is(http.StatusCreated)
	w.wrote(`{"what":"create tenant",` + head + `,"after":{"events":"90d","readings":"30d",
		"max_future":"10m","silent_after":"15m","longest_shelf":"1d",
		"unknown_states":"refuse","states":` + quoted(t,
		`[{"name":"OK","severity":0,"letter":"O","colour":"#2e7d32","symbol":"●"}]`) + `}}`)
	w.put("/tenants/plant", `{"retention":{"events":"forever"},"silent_after":"1h"}`, id, token).
		is(http.StatusOK)
	w.wrote(`{"what":"change tenant",` + head + `,"before":{"events":"90d","silent_after":"15m"},
		"after":{"events":"forever","silent_after":"1h"}}`)
	w.put("/tenants/plant", `{"states":[{"name":"A,B","severity":1}]}`,
		token).is(http.StatusBadRequest)
	w.wrote()
	w.do(http.MethodDelete, base+"/tenants/plant", "", id, token).is(http.StatusNoContent)
	w.wrote(`{"what":"delete tenant",` + head + `}`)
	w.do(http.MethodDelete, base+"/tenants/default", "", token).is(http.StatusConflict)
	w.wrote()
	w.put("/tenants/plant", `{}`).is(http.StatusUnauthorized)
	w.wrote()
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAuditOfWhatWasBrokenOff: a change whose outcome no one knows has a line that says so.
func TestAuditOfWhatWasBrokenOff(t *testing.T) {
	broken := func(o *httpapi.Options) {
		var faults wrap.Faults
		faults.Set(wrap.Fail(andon.Errorf(andon.Unavailable, "no answer")), "Assign")
		o.Store = wrap.Around(o.Store, faults.Hook)
	}
	w := newAudited(t, broken)
	w.put("/devices/d/operator", `{"operator":"Liz"}`, id).is(http.StatusServiceUnavailable)
	w.wrote(`{"what":"assign","outcome":"unknown","who":"loopback","request_id":"r1",
		"tenant":"default","device":"d","after":"Liz"}`)
}

// TestNoAudit: without a log for them there are no lines, and everything works.
func TestNoAudit(t *testing.T) {
	w := newWorld(t)
	w.event("d", "2020-04-24T11:00:00Z", "WARNING1")
	w.put("/devices/d/operator", `{"operator":"Liz"}`).is(http.StatusOK)
	w.post("/devices/d/escalations", `{"to":"Sara"}`).is(http.StatusCreated)
	w.do(http.MethodDelete, base+"/devices/d", "").is(http.StatusOK)
	w.put("/tenants/plant", `{}`).is(http.StatusCreated)
}
