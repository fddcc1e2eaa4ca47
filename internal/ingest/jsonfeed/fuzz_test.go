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
	`{"deviceId":"d","timestamp":"2020-04-24T14:40:00Z","a":-1.5,"b":true,"c":null,"ttl":9,` +
		`"e":"f","metadata":{"g":1}}`,
	good, "", " ", "null", "{}", "[]", "[" + good + "]", "[" + good + "," + good + "]",
	good + "\n" + good, good + "\r\n\r\n{\n" + good,
	"[" + good + ",]", "[" + good + "] x", "[" + good + "," + good[:9],
	`[NaN,{"device":"d","state":"S","a":[-Infinity]},` + good + `,{"NaN":Infinity}]`,
	`[{"device":"d","metrics":{"a":NaN}},{"device":"d","metrics":{"a":1}}]`, "[1NaN,-NaN,{NaN:1}]",
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
		batch, err := jsonfeed.Events(body, formatOf(lines), andon.Milliseconds, nil)
		compare(t, body, lines, batch, err, oracleEvent)
	})
}

// FuzzReadings is FuzzEvents for readings.
func FuzzReadings(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, body string, lines bool) {
		batch, err := jsonfeed.Readings(body, formatOf(lines), andon.Milliseconds, nil)
		compare(t, body, lines, batch, err, oracleReading)
	})
}

// FuzzAssignments checks that every entry is accounted for.
func FuzzAssignments(f *testing.F) {
	f.Add(`[{"device":"d","operator":"Liz"},{"device":"d","operator":null},{"device":"d"}]`, false)
	addSeeds(f)
	f.Fuzz(func(t *testing.T, body string, lines bool) {
		if batch, err := jsonfeed.Assignments(body, formatOf(lines), nil); err == nil {
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
	if strings.Count(body, "[")+strings.Count(body, "{") > 9_000 {
		t.Skip("encoding/json reads no deeper than 10,000")
	}
	entries, whole := oracleEntries(body, lines)
	if err != nil {
		for _, raw := range entries {
			if _, ok := read(raw); ok && whole {
				t.Fatalf("%v, but this entry is good: %s", err, raw)
			}
		}
		return
	}
	if !whole {
		t.Fatalf("the array is broken, but %d entries of it were kept", len(batch.Items))
	}
	accounted(t, batch)
	if n := len(batch.Items) + len(batch.Rejected); n != len(entries) {
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
	}
}

// oracleEntries splits a body with encoding/json. whole says that the entries are all there are: an
// array whose syntax breaks is one broken document.
func oracleEntries(body string, lines bool) (entries []string, whole bool) {
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
	finite := withoutNotFinite(body)
	if !json.Valid([]byte(finite)) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(finite))
	_, _ = d.Token()
	for d.More() {
		var value json.RawMessage
		_ = d.Decode(&value)
		end := int(d.InputOffset())
		entries = append(entries, body[end-len(value):end])
	}
	return entries, true
}

// withoutNotFinite puts an empty array of the same length in place of each NaN, Infinity and
// -Infinity outside of strings: nothing else can be a value alone.
func withoutNotFinite(body string) string {
	b := []byte(body)
	quoted := false
	for i := 0; i < len(b); i++ {
		switch {
		case quoted && b[i] == '\\':
			i++
		case b[i] == '"':
			quoted = !quoted
		case !quoted:
			for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
				if strings.HasPrefix(body[i:], word) {
					copy(b[i:], "[]"+strings.Repeat(" ", len(word)-2))
					i += len(word) - 1
					break
				}
			}
		}
	}
	return string(b)
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
