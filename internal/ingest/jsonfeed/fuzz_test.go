package jsonfeed_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
)

var seeds = []string{
	good, "", " ", "null", "{}", "[]", "[" + good + "]", "[" + good + "," + good + "]",
	good + "\n" + good, "\uFEFF" + good + "\r\n\r\n{\n" + good,
	"[" + good + ",]", "[" + good + "] x",
	`[{"device":"d","state":"S","time":1587739200000.5,"a":[1,{"b":null}],` +
		`"attributes":{"c":"\n"}}]`,
	`{"device":"d","state":"S","time":"2020-04-24T14:40:00Z","operator":"","escalated_to":null}`,
	`{"device":"\u0064\ud83d\ude00","state":"S","message":"é"}`,
	`{"device":"d","state":"S","a":"\ud800"}`, `{"device":"d","state":"S","a":"\\ud800"}`,
	`{"device":"d","state":"S","a":-0.0e+1,"b":1E5,"c":01}`,
	`{"device":"d","state":"S","a":1,"attributes":{"a":1}}`, `{"device":"d","device":"d"}`,
	`{"device":"d","metrics":{"a":1,"b":true,"c":-1.5e-3},"metadata":{"x":1},"y":2}`,
	`{"device":"d","metrics":{"a":1e999}}`, `{"device":"d","metrics":{"a":1e-400}}`,
	"[" + good + `,{"device":"` + "\xff" + `"},7,"x"]`, `{"device":"d` + "\x01" + `"}`,
	strings.Repeat("[", 100), strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70),
}

func addSeeds(f *testing.F) {
	for _, body := range seeds {
		f.Add(body, false)
		f.Add(body, true)
	}
}

func formatOf(lines bool) jsonfeed.Format {
	if lines {
		return jsonfeed.NDJSON
	}
	return jsonfeed.JSON
}

// FuzzEvents compares what is kept and what is rejected with encoding/json and, above it, the
// stricter rules, written plainly in oracle_test.go.
func FuzzEvents(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, body string, lines bool) {
		batch, err := jsonfeed.Events(body, formatOf(lines), andon.Milliseconds)
		compare(t, body, lines, batch, err, oracleEvent)
	})
}

// FuzzReadings is FuzzEvents for readings.
func FuzzReadings(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, body string, lines bool) {
		batch, err := jsonfeed.Readings(body, formatOf(lines), andon.Milliseconds)
		compare(t, body, lines, batch, err, oracleReading)
	})
}

// FuzzAssignments checks that every entry is accounted for.
func FuzzAssignments(f *testing.F) {
	f.Add(`[{"device":"d","operator":"Liz"},{"device":"d","operator":null},{"device":"d"}]`, false)
	addSeeds(f)
	f.Fuzz(func(t *testing.T, body string, lines bool) {
		if batch, err := jsonfeed.Assignments(body, formatOf(lines)); err == nil {
			accounted(t, batch)
		}
	})
}

// accounted checks that the entries of a batch are 0, 1, 2, …, each once, in two ascending lists.
func accounted[T any](t *testing.T, batch ingest.Batch[T]) {
	t.Helper()
	items, rejected := batch.Items, batch.Rejected
	for i := range len(items) + len(rejected) {
		switch {
		case len(items) > 0 && items[0].Index == i:
			items = items[1:]
		case len(rejected) > 0 && rejected[0].Index == i:
			rejected = rejected[1:]
		default:
			t.Fatalf("entry %d is not accounted for", i)
		}
	}
}

// compare checks a batch against the entries of the body as the oracle splits and reads them.
func compare[T any](t *testing.T, body string, lines bool, batch ingest.Batch[T], err error,
	read func(raw string) (T, bool),
) {
	t.Helper()
	entries, whole := oracleEntries(body, lines)
	if err != nil {
		for _, raw := range entries {
			if _, ok := read(raw); ok && (lines || whole) {
				t.Fatalf("%v, but this entry is good: %s", err, raw)
			}
		}
		return
	}
	accounted(t, batch)
	if n := len(batch.Items) + len(batch.Rejected); whole && n != len(entries) {
		t.Fatalf("%d entries accounted for of %d", n, len(entries))
	}
	kept := map[int]T{}
	for _, item := range batch.Items {
		kept[item.Index] = item.Value
	}
	for i, raw := range entries {
		want, ok := read(raw)
		got, is := kept[i]
		if ok != is {
			t.Fatalf("entry %d kept: %t, want %t: %s\n%v", i, is, ok, raw, batch.Rejected)
		}
		if diff := cmp.Diff(want, got); ok && diff != "" {
			t.Fatalf("entry %d: %s", i, diff)
		}
		delete(kept, i)
	}
	if len(kept) > 0 {
		t.Fatalf("kept what encoding/json can't read: %v", kept)
	}
}

// oracleEntries splits a body with encoding/json. whole says that it could be read to its end, so
// that the entries are all there are; else they are those in front of what could not be read.
func oracleEntries(body string, lines bool) (entries []string, whole bool) {
	body = strings.TrimPrefix(body, "\uFEFF")
	if lines {
		for line := range strings.SplitSeq(body, "\n") {
			if strings.Trim(line, " \t\r") != "" {
				entries = append(entries, line)
			}
		}
		return entries, true
	}
	if !strings.HasPrefix(strings.TrimLeft(body, " \t\r\n"), "[") {
		return []string{body}, true
	}
	d := json.NewDecoder(strings.NewReader(body))
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	for d.More() {
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return entries, false
		}
		entries = append(entries, string(raw))
	}
	return entries, json.Valid([]byte(body))
}

// TestOracle keeps the oracle itself honest.
func TestOracle(t *testing.T) {
	for raw, want := range map[string]bool{
		good: true,
		`{"device":"d","state":"S","a":"\ud800"}`:               false,
		`{"device":"d","state":"S","a":"\\ud800"}`:              true,
		`{"device":"d","state":"S","a":"\ud83d\ude00"}`:         true,
		`{"device":"d","state":"S","a":1,"a":2}`:                false,
		`{"device":"d","state":"S","attributes":{"a":1},"a":2}`: false,
		`{"device":"d","state":"S","a":` + nested(64) + `}`:     false,
		`{"device":"d","state":"S","a":` + nested(63) + `}`:     true,
	} {
		if _, ok := oracleEvent(raw); ok != want {
			t.Errorf("%s: %t", raw, ok)
		}
	}
	if !utf8.ValidString(good) || !json.Valid(bytes.TrimSpace([]byte(good))) {
		t.Error("the good event is bad")
	}
}
