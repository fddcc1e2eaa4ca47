package workbench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/workbench"
)

const refilledAt andon.Time = 1_587_739_200_000_000

// refill writes a model again, with other entries.
func refill(t *testing.T, text string, all []andon.Event) string {
	t.Helper()
	w, err := parse(t, text).Refill(false, refilledAt)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if err := w.Add(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := w.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func decoded(t *testing.T, text string) (model map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &model); err != nil {
		t.Fatal(err)
	}
	return model
}

// TestRefillKeepsAll: a step of the reference that is filled with its own entries is the same, but
// for the time of the change.
func TestRefillKeepsAll(t *testing.T) {
	for step := range 7 {
		text := sample(t, fmt.Sprintf("devicestatelog/DeviceStateLog_%d.json", step+1))
		want := decoded(t, text)
		want["ModelMetadata"].(map[string]any)["DateLastModified"] = "Apr 24, 2020, 02:40 PM"
		if diff := cmp.Diff(want, decoded(t, refill(t, text, events(parse(t, text))))); diff != "" {
			t.Errorf("step %d: %s", step+1, diff)
		}
	}
}

// TestRefill: what the entries need is declared, and all else stays, known or not.
func TestRefill(t *testing.T) {
	text := `{"DataModel": [{"TableName": "Other", "X": [1]},
{"TableName": "t", "Y": {"<": "\u00e9"},
"KeyAttributes": {"PartitionKey": {"AttributeName": "DeviceID", "AttributeType": "S"},
"SortKey": {"AttributeName": "Date", "AttributeType": "S"}},
"NonKeyAttributes": [{"AttributeName": "State", "AttributeType": "S", "Format": "word"}]}],
"ModelName": "m"}`
	got := decoded(t, refill(t, text, []andon.Event{{
		Device: "d", Time: refilledAt, State: "A", Operator: "Liz", Attributes: `{"n":1}`,
	}}))
	want := decoded(t, `{"ModelName": "m", "DataModel": [{"TableName": "Other", "X": [1]},
{"TableName": "t", "Y": {"<": "é"},
"KeyAttributes": {"PartitionKey": {"AttributeName": "DeviceID", "AttributeType": "S"},
"SortKey": {"AttributeName": "Date", "AttributeType": "S"}},
"NonKeyAttributes": [{"AttributeName": "State", "AttributeType": "S", "Format": "word"},
{"AttributeName": "Operator", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}],
"TableData": [{"DeviceID": {"S": "d"}, "Date": {"S": "2020-04-24T14:40:00"}, "State": {"S": "A"},
"Operator": {"S": "Liz"}, "n": {"N": "1"}}]}],
"ModelMetadata": {"DateLastModified": "Apr 24, 2020, 02:40 PM"}}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRefillOfFacets: the items of a model that was written are in its first facet, and so are
// those that take their place.
func TestRefillOfFacets(t *testing.T) {
	all := logged(`{"a":1}`, `{"b":"x"}`)
	text := refill(t, write(t, all), all[1:])
	if diff := cmp.Diff(all[1:], events(parse(t, text))); diff != "" {
		t.Error(diff)
	}
	if got := len(itemsOf[json.RawMessage](t, text)); got != 1 {
		t.Errorf("%d items are in its first facet", got)
	}
}

// TestRefillRefused: models that have no place for entries.
func TestRefillRefused(t *testing.T) {
	const keys = `"KeyAttributes": {"PartitionKey": {"AttributeName": "DeviceID", ` +
		`"AttributeType": "N"}, "SortKey": {"AttributeName": "State#Date", "AttributeType": "S"}}`
	const facets = `"TableFacets": [{"FacetName": "f", "TableData": [{}]}, ` +
		`{"FacetName": "g", "TableData": [{}]}]`
	for text, want := range map[string]string{
		`{"TableName": "t", "TableData": [{}]}`: "no table of the model is a log of device states",
		`{"TableName": "t", ` + keys + `}`: `table "t": attribute DeviceID has the type ` +
			`"N", want S`,
		`{"TableName": "t", ` + facets + `, ` + keys + `}`: `the items of table "t" are in ` +
			`its facets "f" and "g", and there is no telling which entry is of which facet`,
	} {
		m, err := workbench.Parse(`{"DataModel": [` + text + `]}`)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Refill(false, refilledAt)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
