package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
)

// TestSerialExamplesHaveTheirTypes: each example of the document is what a route takes or answers.
func TestSerialExamplesHaveTheirTypes(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	now := func() andon.Time { return andon.MinTime }
	api := New(Options{Store: store, Now: now, Intake: intake.New(store, intake.Options{Now: now}),
		Incidents: struct{ Incidents }{}, Documents: struct{ Documents }{},
		Rules: struct{ Rules }{}})
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
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
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

func hasType(t *testing.T, name string, example json.RawMessage, kind reflect.Type) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(example))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(reflect.New(kind).Interface()); err != nil {
		t.Errorf("%s: the example %s is no %s: %v", name, example, kind, err)
	}
}
