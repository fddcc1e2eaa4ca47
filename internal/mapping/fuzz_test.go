package mapping_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/andonhq/andon/internal/mapping"
)

// several are mappings that together use all that there is.
func several(t testing.TB) (all []*mapping.Mapping) {
	for _, text := range []string{
		"each: $.*\ndevice: '{each:1}/{each:2}'\ntime: $.ts\nmetrics: $.values.*\n" +
			"attributes: {all: $$.values, '{$.n}': '$.a[0].b'}\n",
		"each: $\ndevice: $.d\nstate: $.s\nstates: {table: nagios, default: X}\n" +
			"metrics: {'{$.n}': $.v}\ntenant: '{topic:2}'\ntimes: {zone: +01:00}\ntime: $.t\n",
		"device: '{key}'\nstate: $.s\nmessage: 'm {$} {$$.m}'\nwhen: {$.type: status}\n" +
			"operator: $.o\nescalated_to: $.e\nattributes: $.attributes.*\n",
	} {
		m, err := read(t, text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return append(all, nil)
}

// FuzzMap: whatever a message is, each mapping ends, says why or gives entries that can be kept,
// and gives the same when it comes again.
func FuzzMap(f *testing.F) {
	for _, text := range []string{
		`{"a":[{"ts":1764840000000,"values":{"t":1,"u":"x","v":true}}],"b":{"ts":"x"}}`,
		`[{"d":"d","s":"ok","t":"05.11.2026 14:05","n":"m","v":1e999},{"d":1,"s":2,"n":null}]`,
		`{"type":"status","s":"A","m":{"x":[1]},"o":"\u0000","e":"Sara","attributes":{"a":{}}}`,
		`{"device":"d","state":"A","metrics":{"t":1}}` + "\n" + `{"device":"d"`,
		strings.Repeat("[", 100), "\xff", `{"a":"\ud800"}`, `{"":{"":[]}}`, "\uFEFF{}", "",
	} {
		f.Add([]byte(text), "a/b.c", "k")
	}
	files, _ := filepath.Glob("../../../shared/data/*/*.json")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && len(text) < 10_000 {
			f.Add(text, "a/b", "")
		}
	}
	mappings := several(f)
	f.Fuzz(func(t *testing.T, value []byte, topic, key string) {
		for i, m := range mappings {
			message := &mapping.Message{Topic: topic, Key: key, Value: value, Time: now}
			entries, refused := m.Map(message)
			for _, e := range entries {
				var err error
				if e.Event != nil {
					err = e.Event.Validate()
				} else {
					err = e.Reading.Validate()
				}
				if err != nil || (e.Event == nil) == (e.Reading == nil) {
					t.Errorf("mapping %d: %+v: %v", i, e, err)
				}
			}
			for _, r := range refused {
				if r.Error == "" || !utf8.ValidString(r.Error) {
					t.Errorf("mapping %d: %q", i, r.Error)
				}
			}
			again := mapped(m, message)
			if mapped(m, message) != again {
				t.Errorf("mapping %d: another result the second time", i)
			}
		}
	})
}

// BenchmarkMap maps a message of one event, and BenchmarkOwn one of Andon's own JSON: what each
// message costs a source before the store.
func BenchmarkMap(b *testing.B) {
	m, err := read(b, "device: '{topic:3}'\ntime: $.ts\nstate: $.status\nstates: {table: nagios}\n"+
		"message: $.output\nattributes: {line: $.labels.line}\n")
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, m, `{"ts":1764840000000,"status":"WARNING","output":"overheat at the bearing",`+
		`"labels":{"line":"L3","hall":"3"},"values":{"t":21.5,"u":40}}`)
}

func BenchmarkOwn(b *testing.B) {
	benchmark(b, nil, `{"device":"press-7","time":"2025-12-04T12:34:56Z","state":"WARNING1",`+
		`"message":"overheat at the bearing","attributes":{"line":"L3","hall":"3"}}`)
}

func benchmark(b *testing.B, m *mapping.Mapping, value string) {
	message := &mapping.Message{Topic: "plant/hall-3/press-7", Value: []byte(value), Time: now}
	b.ReportAllocs()
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		if entries, refused := m.Map(message); len(entries) != 1 || len(refused) > 0 {
			b.Fatal(entries, refused)
		}
	}
}
