package mapping_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/mapping"
)

const now = andon.Time(1_764_851_696_000_000) // 2025-12-04T12:34:56Z

// read reads a mapping from its text.
func read(t testing.TB, text string) (*mapping.Mapping, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := mapping.Read(file)
	if err != nil {
		err = andon.Errorf(andon.KindOf(err), "%s",
			strings.ReplaceAll(err.Error(), filepath.Dir(file)+"/", ""))
	}
	return m, err
}

// mapped is what a message becomes, a line for each entry and for each refusal.
func mapped(m *mapping.Mapping, message *mapping.Message) string {
	var b strings.Builder
	entries, refused := m.Map(message)
	for _, e := range entries {
		if e.Tenant != "" {
			b.WriteString(string(e.Tenant) + " ")
		}
		var text []byte
		if e.Event != nil {
			text, _ = json.Marshal(e.Event)
		} else {
			text, _ = json.Marshal(e.Reading)
		}
		b.Write(append(text, '\n'))
	}
	for _, r := range refused {
		text, _ := json.Marshal(r)
		b.Write(append(text, '\n'))
	}
	return b.String()
}

// TestMap maps the messages of testdata/*.txt: a mapping, messages, and what they become.
func TestMap(t *testing.T) {
	for _, test := range []struct{ name, mapping, value, want string }{
		{"fields", `
device: "{topic:2}/{key}"
tenant: "{header:plant}"
time: $.at
state: $.status
states: {table: nagios, names: {MAINT: OFF}}
operator: $.who
message: "{$.text} ({$.code})"
escalated_to: $.boss
attributes: {line: $.line.name, raw: $.line}
`, `{"at":"2025-12-04T10:00:00+01:00","status":"Critical","text":"hot","code":7,` +
			`"line":{"name":"L3"},"boss":null}`,
			`acme {"device":"press/k1","time":"2025-12-04T09:00:00Z","state":"WARNING4",` +
				`"message":"hot (7)","attributes":{"line":"L3","raw":{"name":"L3"}}}` + "\n"},
		{"each", `
each: $.values
device: $$.gateway.id
time: $.ts
times: {unit: s}
metrics: {"temp": $.t, open: $.door}
`, `{"gateway":{"id":"g"},"values":[{"ts":1764840000,"t":"21.5","door":true},{"ts":"x","t":1},` +
			`{"ts":1764840001,"t":"warm"},{"ts":1764840001}]}`,
			`{"device":"g","time":"2025-12-04T09:20:00Z","metrics":{"open":1,"temp":21.5}}
{"index":1,"error":"$.ts: time \"x\" is not RFC 3339, such as 2026-11-20T06:00:00Z"}
{"index":2,"error":"temp: \"warm\" is not a number"}
{"index":3,"error":"there is no metric"}
`},
		{"unit by topic", `
device: "{topic:3}"
state: $.value
states: {names: {"1": NORMAL}, default: WARNING1}
metrics: $.values.*
when: {$.type: status}
`, `{"type":"status","value":7,"values":{"a":1,"b":"text","c":false,"d":null,"e":[1]}}`,
			`{"device":"x9","time":"2025-12-04T12:34:56Z","state":"WARNING1"}
{"device":"x9","time":"2025-12-04T12:34:56Z","metrics":{"a":1,"c":0}}
`},
		{"seconds that nobody states", `
each: $
device: $.d
time: $.t
state: $.s
`, `[{"d":"a","t":1764840000,"s":"on"},{"d":"a","t":1764840000000,"s":"on"}]`,
			`{"device":"a","time":"2025-12-04T09:20:00Z","state":"on"}
{"index":0,"error":"$.t: time 1764840000 would be of 1970-01-21T10:14:00Z in ` +
				`milliseconds, which are assumed: say times.unit: s if it counts seconds, ` +
				`times.unit: ms if it is right, or send RFC 3339"}
`},
		{"seconds in Andon's own JSON", "",
			`[{"device":"a","time":1764840000,"state":"on"},` +
				`{"device":"a","time":1764840000000,"state":"on"}]`,
			`{"device":"a","time":"2025-12-04T09:20:00Z","state":"on"}
{"index":0,"error":"at byte 22: time 1764840000 would be of 1970-01-21T10:14:00Z in ` +
				`milliseconds, which are assumed: say in a mapping times.unit: s if it counts ` +
				`seconds, times.unit: ms if it is right, or send RFC 3339"}
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := (*mapping.Mapping)(nil), error(nil)
			if test.mapping != "" {
				m, err = read(t, test.mapping)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := mapped(m, &mapping.Message{
				Topic: "plant/press/x9", Key: "k1", Headers: map[string]string{"plant": "acme"},
				Value: []byte(test.value), Time: now,
			})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
