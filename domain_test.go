package andon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

func TestIdentifiers(t *testing.T) {
	for _, good := range []string{
		"d#12345", "a/b", "100%", "two words", "😀", "é", "e\u0301", "...",
		strings.Repeat("x", 128),
	} {
		if err := andon.DeviceID(good).Validate(); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, why := range map[string]string{
		"": "missing", ".": `can't be "."`, "..": `can't be ".."`,
		"a\x00b": "control character at byte 1", "a\u0085": "control character at byte 1",
		"\x7f": "control", "\xff": "not valid UTF-8",
		strings.Repeat("x", 129): "129 bytes long", strings.Repeat("é", 65): "130 bytes long",
	} {
		err := andon.DeviceID(bad).Validate()
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", bad, err, why)
		}
	}
	for _, bad := range []andon.State{"A,B", "WARN*", andon.State(strings.Repeat("x", 65))} {
		if bad.Validate() == nil {
			t.Errorf("state %q was allowed", bad)
		}
	}
}

func TestStateFilter(t *testing.T) {
	for _, c := range []struct {
		text string
		yes  []andon.State
		no   []andon.State
	}{
		{"", []andon.State{"NORMAL", "x"}, nil},
		{"*", []andon.State{"NORMAL", "x"}, nil},
		{"WARNING*", []andon.State{"WARNING", "WARNING1"}, []andon.State{"WARN", "NORMAL"}},
		{"NORMAL,WARNING1", []andon.State{"NORMAL", "WARNING1"}, []andon.State{"WARNING2"}},
		{"NORMAL", []andon.State{"NORMAL"}, []andon.State{"NORMAL2", "NORM"}},
	} {
		f, err := andon.ParseStateFilter(c.text)
		if err != nil {
			t.Fatalf("%q: %v", c.text, err)
		}
		for _, s := range c.yes {
			if !f.Match(s) {
				t.Errorf("%q does not select %s", c.text, s)
			}
		}
		for _, s := range c.no {
			if f.Match(s) {
				t.Errorf("%q selects %s", c.text, s)
			}
		}
		again, err := andon.ParseStateFilter(f.String())
		if err != nil || again.String() != f.String() {
			t.Errorf("%q: %q is not read back: %v", c.text, f, err)
		}
	}
	for _, bad := range []string{",", "A,", "A,,B", "A*,B", "*A", "A\x01*"} {
		if f, err := andon.ParseStateFilter(bad); err == nil {
			t.Errorf("%q was read as %q", bad, f)
		}
	}
}

func TestStateSet(t *testing.T) {
	set, err := andon.NewStateSet([]andon.StateDef{
		{Name: "BROKEN", Severity: 80}, {Name: "ON"}, {Name: "AUX"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []andon.StateDef{
		{Name: "AUX", Letter: "A", Colour: "#2e7d32", Symbol: "●"},
		{Name: "ON", Letter: "O", Colour: "#2e7d32", Symbol: "●"},
		{Name: "BROKEN", Severity: 80, Letter: "B", Colour: "#b71c1c", Symbol: "✖"},
	}
	if diff := cmp.Diff(want, set.Defs()); diff != "" {
		t.Error(diff)
	}
	if set.Severity("ODD") != andon.UnknownSeverity || set.Look("ODD").Letter != "?" {
		t.Errorf("a state outside the set looks like %+v", set.Look("ODD"))
	}
	grown, _ := andon.NewStateSet(append(set.Defs(),
		andon.StateDef{Name: "ODD", Severity: 16}, andon.StateDef{Name: "NEW", Severity: 50}))
	if name, ok := set.Reorders(grown, []andon.State{"ON", "BROKEN", "ODD"}); ok {
		t.Errorf("%s has another severity in a set that has grown", name)
	}
	if name, ok := grown.Reorders(set, []andon.State{"ODD", "NEW"}); !ok || name != "NEW" {
		t.Errorf("%q has another severity, %v", name, ok)
	}
	for _, bad := range [][]andon.StateDef{
		nil, {{Name: "A"}, {Name: "A", Severity: 1}}, {{Name: "A,B"}}, {{Name: "A", Colour: "red"}},
		{{Name: "A", Letter: strings.Repeat("x", 17)}}, {{Name: "A", Symbol: "\x01"}},
		make([]andon.StateDef, 201), {{Name: "UP", Severity: 1}, {Name: "DOWN", Severity: 9}},
	} {
		if _, err := andon.NewStateSet(bad); andon.KindOf(err) != andon.Invalid || err == nil {
			t.Errorf("%v was allowed: %v", bad, err)
		}
	}
}

// TestLettersDiffer: a cell of the board that shows one letter must not show the same for ON and
// for OFF. What is filled in is read again as if it had been given.
func TestLettersDiffer(t *testing.T) {
	for _, c := range []struct {
		names []andon.State // by severity
		want  string
	}{
		{[]andon.State{"ON", "OFF"}, "O F"},
		{[]andon.State{"OK", "WARNING1", "WARNING2", "WARNING3"}, "O W 2 3"},
		{[]andon.State{"A", "AB", "AB B", "A.B"}, "A B A A"}, // nothing is left
		{[]andon.State{"RUN", "RUN SLOW", ".x", "..."}, "R S x 3"},
		{[]andon.State{"Ä", "ÄÖ"}, "Ä Ö"},
	} {
		var defs []andon.StateDef
		for i, name := range c.names {
			defs = append(defs, andon.StateDef{Name: name, Severity: uint8(20 * i)})
		}
		set, err := andon.NewStateSet(defs)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range set.Defs() {
			got = append(got, d.Letter)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%q have the letters %s, want %s", c.names, text, c.want)
		}
		if _, err := andon.NewStateSet(set.Defs()); err != nil {
			t.Errorf("%q: %v", c.names, err)
		}
	}
	set, err := andon.NewStateSet([]andon.StateDef{{Name: "ON"}, {Name: "UP", Letter: "O"}})
	if err != nil || set.Defs()[0].Letter != "O" || set.Defs()[1].Letter != "O" {
		t.Errorf("a letter that was given was changed, or one made up: %v, %v", set.Defs(), err)
	}
}

func TestOrderOfEntries(t *testing.T) {
	set := andon.DefaultStates()
	ordered := []andon.Event{
		{Device: "d", Time: 5, State: "NORMAL"},
		{Device: "d", Time: 5, State: "A"}, // outside the set: severity 16
		{Device: "d", Time: 5, State: "B"},
		{Device: "d", Time: 5, State: "WARNING1"},
		{Device: "d", Time: 5, State: "WARNING4"},
		{Device: "d", Time: 6, State: "NORMAL"},
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := a.Key(set).Compare(b.Key(set)), min(max(i-j, -1), 1); got != want {
				t.Errorf("%v against %v: %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestSortBatch(t *testing.T) {
	want := []andon.Event{
		{Device: "c", Time: 7, State: "NORMAL"},
		{Device: "d", Time: 5, State: "A"},
		{Device: "d", Time: 5, State: "NORMAL"},
		{Device: "d", Time: 6, State: "A"},
	}
	shuffled := slices.Clone(want)
	slices.Reverse(shuffled)
	want[2].Message = "the last of its identity counts"
	got := andon.SortBatch(append(shuffled, want[2]))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCursor(t *testing.T) {
	const scope = "/devices/d/events?state=A"
	position := andon.EventKey{
		Time: andon.MinTime + 5, Severity: 48, State: "WARNING2", Device: "d#1/😀",
	}
	cursor := andon.EncodeCursor(scope, position)
	var got andon.EventKey
	if err := andon.DecodeCursor(scope, cursor, &got); err != nil || got != position {
		t.Fatalf("%+v, %v", got, err)
	}
	err := andon.DecodeCursor("/devices/d/events?state=B", cursor, &got)
	if andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(), "another query") {
		t.Errorf("of another query: %v", err)
	}
	for i := range len(cursor) {
		for _, c := range "Ab0_" {
			changed := cursor[:i] + string(c) + cursor[i+1:]
			if changed == cursor {
				continue
			}
			err := andon.DecodeCursor(scope, changed, &got)
			if andon.KindOf(err) != andon.Invalid || err == nil {
				t.Fatalf("byte %d changed: %v", i, err)
			}
		}
	}
	for _, bad := range []string{"", "x", "AQ", strings.Repeat("A", 1000), "AQ==", "💥"} {
		if andon.DecodeCursor("s", bad, &got) == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzDecodeCursor(f *testing.F) {
	f.Add(andon.EncodeCursor("s", andon.Time(5)))
	f.Add("")
	f.Fuzz(func(t *testing.T, cursor string) {
		var key andon.EventKey
		if andon.DecodeCursor("another scope", cursor, &key) == nil {
			t.Errorf("%q passed as a cursor", cursor)
		}
	})
}

func TestMetrics(t *testing.T) {
	a := andon.Metrics{{"a", 1}, {"c", 3}}
	b := andon.Metrics{{"b", 2}, {"c", 4}}
	if diff := cmp.Diff(andon.Metrics{{"a", 1}, {"b", 2}, {"c", 4}}, a.Join(b)); diff != "" {
		t.Error(diff)
	}
	if v, ok := a.Get("c"); !ok || v != 3 {
		t.Errorf("c is %v, %v", v, ok)
	}
	if _, err := (andon.Metrics{{"x", 1}, {"a", 1}, {"x", 2}}).Sorted(); err == nil {
		t.Error("a metric stood twice")
	}
	text, err := json.Marshal(andon.Reading{
		Device: "d", Time: 86_400_000_000, Metrics: andon.Metrics{{"a\"", 1e21}, {"b", -0.5}},
	})
	const want = `{"device":"d","time":"1970-01-02T00:00:00Z","metrics":{"a\"":1e+21,"b":-0.5}}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	for _, bad := range []float64{1e126, -1e126, 1e-131} {
		if andon.CheckMetric(bad) == nil {
			t.Errorf("%g was allowed", bad)
		}
	}
	for _, good := range []float64{0, 1e-130, -9.99e125} {
		if err := andon.CheckMetric(good); err != nil {
			t.Error(err)
		}
	}
}

func TestErrors(t *testing.T) {
	cause := errors.New("disk")
	err := fmt.Errorf("write store: %w", andon.Errorf(andon.Full, "no space: %w", cause))
	const want = "write store: no space: disk"
	if andon.KindOf(err) != andon.Full || !errors.Is(err, cause) || err.Error() != want {
		t.Errorf("%v has kind %s", err, andon.KindOf(err))
	}
	if andon.KindOf(cause) != andon.Internal || andon.KindOf(t.Context().Err()) != andon.Internal {
		t.Error("an unknown error is internal")
	}
}

// TestTenantWithOuterSpaces: HTTP trims the value of a header, which would name another tenant.
func TestTenantWithOuterSpaces(t *testing.T) {
	for _, id := range []andon.TenantID{"default ", " default", " "} {
		if err := id.Validate(); err == nil || !strings.Contains(err.Error(), "space") {
			t.Errorf("%q: %v", id, err)
		}
	}
	if err := andon.TenantID("plant 2").Validate(); err != nil {
		t.Error(err)
	}
}
