package httpapi_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/httpapi"
)

// contract is every request of the contract but those of the live part.
var contract = []string{
	"POST /api/v1/events", "GET /api/v1/events", "GET /api/v1/devices/{device}/events",
	"GET /api/v1/operators/{operator}/events", "GET /api/v1/supervisors/{supervisor}/events",
	"GET /api/v1/devices/{device}/events/{time}/{state}",
	"DELETE /api/v1/devices/{device}/events/{time}/{state}",
	"GET /api/v1/devices/{device}", "GET /api/v1/devices", "GET /api/v1/states",
	"DELETE /api/v1/devices/{device}", "PUT /api/v1/devices/{device}/operator",
	"POST /api/v1/assignments", "GET /api/v1/devices/{device}/assignments",
	"POST /api/v1/devices/{device}/escalations", "GET /api/v1/devices/{device}/intervals",
	"GET /api/v1/tenants", "GET /api/v1/tenants/{tenant}", "PUT /api/v1/tenants/{tenant}",
	"DELETE /api/v1/tenants/{tenant}",
	"POST /api/v1/readings", "GET /api/v1/devices/{device}/readings",
	"GET /api/v1/devices/{device}/readings/latest", "POST /api/v1/readings/latest",
	"GET /api/v1/rejections",
	"POST /api/v1/sweep", "POST /api/v1/backup", "GET /api/v1/fleet", "GET /api/v1/events/stream",
	"GET /api/v1/metrics/{metric}/readings",
	"GET /api/v1/operators", "GET /api/v1/supervisors", "GET /api/v1/metrics",
	"GET /api/v1/devices/{device}/retirements",
	"GET /api/v1/devices/{device}/escalations", "POST /api/v1/restore",
	"GET /api/v1/session", "POST /api/v1/session", "DELETE /api/v1/session",
	"GET /api/v1/groups", "PUT /api/v1/devices/{device}/group", "POST /api/v1/groups/devices",
	"GET /api/v1/groups/devices",
	"GET /api/v1/groups/rules", "PUT /api/v1/groups/rules", "PUT /api/v1/devices/{device}",
	"GET /livez", "GET /readyz", "GET /metrics", "GET /version", "GET /openapi.json",
	"GET /docs",
}

type object = map[string]any

// fetched is the document of any server: all have the same one, and it takes long to make.
var fetched object

// document returns the document. It must not be changed.
func (w *world) document() object {
	w.Helper()
	if fetched == nil {
		got := w.do(http.MethodGet, "/openapi.json", "").is(http.StatusOK)
		fetched = parse(w.TB, got.body).(object)
	}
	return fetched
}

// operations returns the operations of a document as "METHOD path".
func operations(document object) map[string]object {
	all := map[string]object{}
	for path, item := range document["paths"].(object) {
		for method, operation := range item.(object) {
			all[strings.ToUpper(method)+" "+path] = operation.(object)
		}
	}
	return all
}

func TestDocumentHoldsTheContract(t *testing.T) {
	document := newWorld(t).document()
	got := slices.Sorted(maps.Keys(operations(document)))
	want := slices.Sorted(slices.Values(contract))
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if document["openapi"] != "3.1.0" {
		t.Errorf("openapi is %v", document["openapi"])
	}
	info := document["info"].(object)
	if info["title"] == "" || info["version"] == "" {
		t.Errorf("info is %v", info)
	}
}

func TestOperationsAreDescribed(t *testing.T) {
	seen := map[any]bool{}
	for name, op := range operations(newWorld(t, withIncidents(factory())).document()) {
		id := op["operationId"]
		if op["summary"] == nil || id == nil || op["tags"] == nil || seen[id] {
			t.Errorf("%s: %v", name, op)
		}
		seen[id] = true
		described := map[string]bool{}
		params, _ := op["parameters"].([]any)
		for _, p := range params {
			param := p.(object)
			described[param["name"].(string)] = param["in"] == "path"
			text, _ := param["description"].(string)
			if text == "" || text[0] == '.' || param["schema"] == nil {
				t.Errorf("%s: %v", name, param)
			}
			// The page at /docs fills an example in: only where something must be there.
			shown := strings.Contains(text, "Example: `")
			inPath := param["in"] == "path"
			if shown == inPath || (param["example"] != nil) != inPath {
				t.Errorf("%s: the example of %v", name, param)
			}
			if param["in"] == "path" && param["required"] != true {
				t.Errorf("%s: %v is not required", name, param["name"])
			}
		}
		for _, wildcard := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(name, -1) {
			if !described[wildcard[1]] {
				t.Errorf("%s: %s is not described", name, wildcard[1])
			}
		}
		checkResponses(t, name, op)
	}
}

// TestSerialExamplesWork sends each request of the document as the page at /docs does when nothing
// is changed, to a server that is fresh: what makes things first, and what takes them away last.
func TestSerialExamplesWork(t *testing.T) {
	w := newWorld(t)
	w.setClock("2026-11-22T12:00:00Z")
	w.put("/tenants/nobody", "{}").is(http.StatusCreated) // of no use to the examples
	all := operations(w.document())
	rank := func(name string) int {
		if name == "DELETE /api/v1/devices/{device}" {
			return 9 // before the only entry of the device is withdrawn
		}
		order := []string{"POST /api/v1/events", "POST /api/v1/readings", "PUT", "POST", "GET"}
		for i, begins := range order {
			if strings.HasPrefix(name, begins) {
				return i
			}
		}
		return 10
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(b, a))
	})
	for _, name := range names {
		method, path, _ := strings.Cut(name, " ")
		params, _ := all[name]["parameters"].([]any)
		for _, p := range params {
			if param := p.(object); param["in"] == "path" {
				example := url.PathEscape(param["example"].(string))
				path = strings.ReplaceAll(path, "{"+param["name"].(string)+"}", example)
			}
		}
		media := object{"": nil}
		if body, ok := all[name]["requestBody"].(object); ok {
			media = body["content"].(object)
		}
		for _, form := range slices.Sorted(maps.Keys(media)) {
			text := ""
			if c, ok := media[form].(object); ok {
				text = exampleText(t, c["example"])
			}
			got := w.do(method, path, text, "Content-Type: "+form)
			if got.status >= 400 ||
				method == http.MethodPost && strings.Contains(got.body, `"rejected":[{`) {
				t.Errorf("%s %s %s: %d %s", name, form, text, got.status, got.body)
			}
		}
	}
}

// exampleText is an example as it is sent: that of NDJSON is a text already.
func exampleText(t *testing.T, example any) string {
	if text, ok := example.(string); ok {
		return text
	}
	text, err := json.Marshal(example)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func checkResponses(t *testing.T, name string, op object) {
	t.Helper()
	success := false
	responses := op["responses"].(object)
	for status, r := range responses {
		response := r.(object)
		if response["description"] == "" {
			t.Errorf("%s: %s is not described", name, status)
		}
		if status < "300" {
			success = true
			continue
		}
		if _, ok := response["content"].(object)["application/problem+json"]; !ok {
			t.Errorf("%s: %s is no problem", name, status)
		}
	}
	if !success || responses["400"] == nil || responses["422"] != nil {
		t.Errorf("%s: %v", name, slices.Sorted(maps.Keys(responses)))
	}
	if body, ok := op["requestBody"].(object); ok {
		for media, content := range body["content"].(object) {
			if c := content.(object); c["schema"] == nil || c["example"] == nil {
				t.Errorf("%s: %s is %v", name, media, c)
			}
		}
	}
}

func TestSchemas(t *testing.T) {
	document := newWorld(t).document()
	schemas := document["components"].(object)["schemas"].(object)
	for _, want := range []string{
		"Event", "ListEvent", "Device", "Problem", "Tenant", "Escalation",
	} {
		if schemas[want] == nil {
			t.Errorf("no schema %s among %v", want, slices.Sorted(maps.Keys(schemas)))
		}
	}
	if schemas[""] != nil {
		t.Error("a schema has no name")
	}
	device := schemas["Device"].(object)
	since := device["properties"].(object)["since"].(object)
	if since["type"] != "string" || since["format"] != "date-time" {
		t.Errorf("got %v", since)
	}
	if device["additionalProperties"] != nil {
		t.Error("answers can't grow")
	}
}

// The examples of bodies are taken by the API itself: an example that is refused teaches the wrong.
func TestSerialExamplesAreTaken(t *testing.T) {
	w := newWorld(t)
	w.setClock("2020-04-24T14:50:00Z")
	w.event("press-7", "2020-04-24T14:40:00Z", "WARNING1")
	all := operations(w.document())
	for _, name := range []string{
		"POST /api/v1/events", "POST /api/v1/readings", "POST /api/v1/assignments",
		"PUT /api/v1/devices/{device}/operator", "POST /api/v1/devices/{device}/escalations",
		"PUT /api/v1/tenants/{tenant}", "POST /api/v1/readings/latest",
	} {
		method, path, _ := strings.Cut(name, " ")
		path = strings.NewReplacer("{device}", "press-7", "{tenant}", "plant-2").Replace(path)
		body := all[name]["requestBody"].(object)
		content := body["content"].(object)
		sent := marshal(t, content["application/json"].(object)["example"])
		if got := w.do(method, path, sent); got.status > 299 {
			t.Errorf("%s %s: %d %s", name, sent, got.status, got.body)
		}
		if lines, ok := content["application/x-ndjson"].(object); ok {
			w.do(method, path, lines["example"].(string), "Content-Type: application/x-ndjson").
				is(200)
		}
	}
}

// TestDocumentSaysWhatIsTaken: bodies in which other fields are refused say so, others and answers
// may grow; and what each document is as a whole.
func TestDocumentSaysWhatIsTaken(t *testing.T) {
	w := newWorld(t)
	document := w.document()
	schemas := document["components"].(object)["schemas"].(object)
	for name, want := range map[string]any{
		"NewAssignment": false, "TenantBody": false, "RestoredEscalation": false,
		"NewEvent": nil, "NewReading": nil, "Tenant": nil, "Device": nil,
	} {
		if got := schemas[name].(object)["additionalProperties"]; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for path, want := range map[string]string{"/openapi.json": "object", "/docs": "string"} {
		ok := operations(document)["GET "+path]["responses"].(object)["200"].(object)
		for media, content := range ok["content"].(object) {
			sent := w.do(http.MethodGet, path, "").header.Get("Content-Type")
			if !strings.HasPrefix(sent, media) {
				t.Errorf("%s is sent as %s, and documented as %s", path, sent, media)
			}
			if got := content.(object)["schema"].(object)["type"]; got != want {
				t.Errorf("%s, %s: %v, want %s", path, media, got, want)
			}
		}
	}
}

// The page works from this program alone, under its own policy.
func TestDocs(t *testing.T) {
	w := newWorld(t)
	page := w.do(http.MethodGet, "/docs", "").is(http.StatusOK)
	policy := page.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "script-src 'self';") {
		t.Errorf("policy %q", policy)
	}
	if strings.Contains(page.body, "://") || strings.Contains(page.body, "<script>") {
		t.Errorf("the page needs more than this program: %s", page.body)
	}
	files := regexp.MustCompile(`(?:src|href)="(docs/[^"]+)"`).FindAllStringSubmatch(page.body, -1)
	if len(files) != 4 {
		t.Errorf("got %q", files)
	}
	for _, file := range files {
		got := w.do(http.MethodGet, "/"+file[1], "").is(http.StatusOK)
		if got.body == "" || got.header.Get("Content-Type") == "" {
			t.Errorf("%s: %v", file[1], got.header)
		}
		plain := w.do(http.MethodGet, "/"+file[1], "", "Accept-Encoding: identity").
			is(http.StatusOK)
		if plain.header.Get("Content-Encoding") != "" || plain.body != got.body {
			t.Errorf("%s: not the same without compression", file[1])
		}
	}
}

// TestSerialRefusalsAreDocumented: who may not ask learns it by the statuses that the document
// names, and these are named only where they are sent. What each request is worth otherwise is
// garbage_test.go's.
func TestSerialRefusalsAreDocumented(t *testing.T) {
	beyond := newWorld(t, func(o *httpapi.Options) { o.Token = "s3cret" })
	here := newWorld(t, loopback)
	const known = "Authorization: Bearer s3cret"
	for name, op := range operations(here.document()) {
		method, path, _ := strings.Cut(name, " ")
		path = strings.NewReplacer("{time}", "2020-04-24", "{state}", "A", "{tenant}", "none",
			"{device}", "d", "{operator}", "o", "{supervisor}", "s", "{metric}", "m").Replace(path)
		responses := op["responses"].(object)
		body := ""
		if name == "POST /api/v1/session" {
			body = `{"token":"wrong"}`
		}
		for status, got := range map[int]answer{
			401: beyond.do(method, path, body),
			403: here.do(method, path, "", "Origin: https://evil.example"),
			421: here.do(method, path, "", "Host: evil.example"),
		} {
			documented := responses[strconv.Itoa(status)] != nil
			if sent := got.status == status; sent != documented {
				t.Errorf("%s: %d is sent: %v, documented: %v", name, status, sent, documented)
			}
		}
		for _, got := range []answer{
			beyond.do(method, path, "", known, "Andon-Tenant: nobody"),
			beyond.do(method, path, `{"devices":["d"]}`, known, "Content-Type: text/plain"),
			beyond.do(method, path, `{"devices":["d"]}`, known, "Andon-Tenant: nobody"),
			beyond.do(method, path+"?nothing=1", "", known),
		} {
			got.isDocumented(name, op)
		}
	}
	for _, path := range []string{"/livez", "/version", "/openapi.json"} {
		responses := operations(here.document())["GET "+path]["responses"].(object)
		if responses["404"] != nil || responses["503"] != nil {
			t.Errorf("%s: %v", path, slices.Sorted(maps.Keys(responses)))
		}
	}
}
