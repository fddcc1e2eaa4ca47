package workbench_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/workbench"
)

// FuzzModel: whatever the text, each item is accounted for, and what could be read is the same once
// it was written and read again.
func FuzzModel(f *testing.F) {
	const key = `"DeviceID": {"S": "d"}, "State#Date": {"S": "A#2020-04-24T14:40:00"}`
	f.Add(model(`{` + key + `, "a": {"M": {"b": {"L": [{"N": "1"}]}}}}`))
	f.Add(model(`{`+key+`}`, `{}`, `7`, `{`+key+`, "a": {"SS": ["x"]}, "a": {"B": ""}}`))
	f.Add(model(`{` + key + `, "Attributes": {"S": "{\"a\":1}"}, "m": {"M": {"M": {"M": {}}}}}`))
	f.Add(`{"DataModel": [{"TableName": "t", "TableFacets": [{"TableData": [{}]}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := workbench.Parse(text)
		if err != nil {
			return
		}
		places := map[int]bool{}
		for _, item := range m.Items {
			places[item.Index] = true
		}
		for _, why := range m.Rejected {
			places[why.Index] = true
		}
		if len(places) != len(m.Items)+len(m.Rejected) {
			t.Fatalf("%d places of %d items", len(places), len(m.Items)+len(m.Rejected))
		}
		comeBack(t, events(m))
	})
}

// comeBack checks that events are the same once they were written and read again.
func comeBack(t *testing.T, all []andon.Event) {
	t.Helper()
	is := parse(t, write(t, all))
	if len(is.Rejected) > 0 {
		t.Fatalf("rejected %v", is.Rejected)
	}
	for i := range all {
		all[i].Attributes = compacted(all[i].Attributes)
	}
	got := events(is)
	for i := range got {
		got[i].Attributes = compacted(got[i].Attributes)
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Fatal(diff)
	}
}

// compacted writes attributes in one way, whatever the order of their names.
func compacted(text andon.JSON) andon.JSON {
	var v any
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if text == "" || decoder.Decode(&v) != nil {
		return text
	}
	out, _ := json.Marshal(v)
	return andon.JSON(out)
}

// FuzzAttributes: whatever is kept with an event comes back.
func FuzzAttributes(f *testing.F) {
	for _, text := range []string{
		`{"a":{"M":{"M":{"SS":["x"]}}}}`, `{"a":{"N":"007"},"b":{"N":"7"}}`, `{"B":{"B":"YQ=="}}`,
		`{"a":{"M":{"a":{"S":"x"}}}}`, `{"a":{"M":{"M":{"N":"+1"}}}}`,
		`{"a":[[{"BS":[""]}],{"L":[]}]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// As the server admits attributes, with names that need no escape.
		isObject := json.Valid([]byte(text)) && strings.HasPrefix(text, "{")
		if !isObject || strings.Contains(text, `\`) {
			return
		}
		probe := workbench.Item{}
		probe.AddText("DeviceID", "d")
		probe.AddText("State#Date", "A#2020-04-24")
		probe.AddText("Attributes", text)
		e, err := probe.Event()
		if err != nil || e.Attributes != andon.JSON(text) {
			return
		}
		comeBack(t, []andon.Event{e})
	})
}
