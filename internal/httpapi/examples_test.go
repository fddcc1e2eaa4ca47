package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/rules/runner"
	"github.com/andonhq/andon/internal/store/memstore"
)

// TestSerialExamplesHaveTheirTypes: each example of the document is what a route takes or answers.
func TestSerialExamplesHaveTheirTypes(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	now := func() andon.Time { return andon.MinTime }
	api := New(Options{Store: store, Now: now, Intake: intake.New(store, intake.Options{Now: now}),
		Incidents: struct{ Incidents }{}, Documents: new(records.Documents),
		Rules: new(runner.Runner), Notifications: struct{ Notifications }{},
		Alerts: func(context.Context, string) error { return nil }})
	routes := api.allRoutes()
	for _, r := range routes {
		r.complete()
	}
	type content = map[string]struct{ Example json.RawMessage }
	var document struct {
		Paths map[string]map[string]struct {
			RequestBody struct{ Content content }
			Responses   map[string]struct{ Content content }
		}
	}
	text := api.document(routes)
	var whole struct {
		Paths map[string]map[string]json.RawMessage
	}
	err := errors.Join(json.Unmarshal(text, &document), json.Unmarshal(text, &whole))
	if err != nil {
		t.Fatal(err)
	}
	checkReferences(t, text)
	for name, want := range map[string]string{
		"GET /api/v1/reports/incidents": `"text/csv"`, "POST /api/v1/groups/devices": `"text/csv"`,
		"GET /api/v1/schedules/{name}": `"text/calendar"`, "GET /api/v1/rules/{name}": `"ETag"`,
		"PUT /api/v1/people/{name}":               `"If-None-Match"`,
		"DELETE /api/v1/people/{name}":            `"If-Match"`,
		"POST /api/v1/schedules/{name}/overrides": `"If-Match"`, "POST /api/v2/alerts": `"200"`,
		"GET /api/v1/events/stream": `"Last-Event-ID"`, "GET /api/v1/events": typeNDJSON,
	} {
		method, path, _ := strings.Cut(name, " ")
		if is := whole.Paths[path][strings.ToLower(method)]; !strings.Contains(string(is), want) {
			t.Errorf("%s has no %s: %s", name, want, is)
		}
	}
	for _, r := range routes {
		operation := document.Paths[r.path()][strings.ToLower(r.method())]
		if r.body != nil && r.body.Kind != nil {
			hasType(t, r.name, operation.RequestBody.Content[typeJSON].Example, r.body.Kind)
		}
		if r.answer != nil && r.answer.Kind != nil {
			answer := operation.Responses[strconv.Itoa(r.statuses[0])]
			hasType(t, r.name, answer.Content[typeJSON].Example, r.answer.Kind)
		}
	}
}

// checkReferences checks that each reference of a document leads to a schema, and that each schema
// has a name that OpenAPI 3.1 takes: section 4.8.7.1 of it.
func checkReferences(t *testing.T, document []byte) {
	t.Helper()
	var components struct {
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(document, &components); err != nil {
		t.Fatal(err)
	}
	schemas := components.Components.Schemas
	for name := range schemas {
		if !regexp.MustCompile(`^[a-zA-Z0-9._-]+$`).MatchString(name) {
			t.Errorf("a schema has the name %q", name)
		}
	}
	refs := regexp.MustCompile(`"\$ref":"#/components/schemas/([^"]*)"`)
	for _, ref := range refs.FindAllSubmatch(document, -1) {
		if schemas[string(ref[1])] == nil {
			t.Errorf("%s leads nowhere", ref[0])
		}
	}
	if all := bytes.Count(document, []byte(`"$ref"`)); all != len(refs.FindAll(document, -1)) {
		t.Errorf("of %d references some lead to no schema", all)
	}
}

func hasType(t *testing.T, name string, example json.RawMessage, kind reflect.Type) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(example))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(reflect.New(kind).Interface()); err != nil {
		t.Errorf("%s: the example %s is no %s: %v", name, example, kind, err)
	}
}
