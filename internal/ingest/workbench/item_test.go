package workbench_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/workbench"
)

// model is a model of one table with items, each in a line, from line 4 on.
func model(items ...string) string {
	return `{"ModelName": "m", "DataModel": [{"TableName": "t",
"KeyAttributes": {"PartitionKey": {"AttributeName": "DeviceID"}},
"NonKeyAttributes": [{"AttributeName": "State#Date"}], "TableData": [
` + strings.Join(items, ",\n") + `]}]}`
}

// keyed puts attributes after those of a key: "+" means that.
func keyed(item string) string {
	const key = `{"DeviceID": {"S": "d"}, "State#Date": {"S": "A#B#2020-04-24T14:40:00"}`
	return strings.Replace(item, "+", key, 1)
}

// TestItems: what items become.
func TestItems(t *testing.T) {
	at, _ := andon.ParseTime("2020-04-24T14:40:00Z")
	for item, want := range map[string]andon.Event{
		`+}`: {},
		`+, "State": {"S": "A#B"}, "Date": {"S": "2020-04-24T14:40:00Z"}}`: {},
		`{"DeviceID": {"N": "1"}, "State": {"S": "A#B"}, "Date": {"S": "2020-04-24 14:40:00"}}`: {
			Device: "1",
		},
		`+, "Operator": {"S": "Liz"}, "EscalatedTo": {"S": "Sara"}, "Message": {"S": "é"}}`: {
			Operator: "Liz", EscalatedTo: "Sara", Message: "é",
		},
		`+, "Operator": {"S": ""}, "EscalatedTo": {"NULL": true}}`: {},
		`+, "a": {"S": "x"}, "n": {"N": "1.50"}, "b": {"BOOL": false}, "z": {"NULL": true}}`: {
			Attributes: `{"a":"x","n":1.50,"b":false,"z":null}`,
		},
		`+, "m": {"M": {"l": {"L": [{"N": "1"}, {"M": {}}]}}}, "e": {"L": []}}`: {
			Attributes: `{"m":{"l":[1,{}]},"e":[]}`,
		},
		`+, "s": {"SS": ["a", "b"]}, "n": {"NS": ["1", "2"]}, "b": {"B": "YQ=="}}`: {
			Attributes: `{"s":{"SS":["a","b"]},"n":{"NS":["1","2"]},"b":{"B":"YQ=="}}`,
		},
		`+, "c": {"BS": ["YQ==", "Yg=="]}}`: {
			Attributes: `{"c":{"BS":["YQ==","Yg=="]}}`,
		},
		`+, "n": {"N": "007"}, "m": {"M": {"SS": {"L": [{"S": "a"}]}}}}`: {
			Attributes: `{"n":{"N":"007"},"m":{"M":{"SS":{"L":[{"S":"a"}]}}}}`,
		},
		`+, "Attributes": {"S": "{\"a\": 1}"}}`: {Attributes: `{"a": 1}`},
		`+, "Attributes": {"S": "{\"a\": 1}"}, "b": {"S": "<&>"}}`: {
			Attributes: `{"b":"<&>","a":1}`,
		},
		`+, "Attributes": {"S": "none"}}`:    {Attributes: `{"Attributes":"none"}`},
		`+, "metadata": {"S": "{\"a\":1}"}}`: {Attributes: `{"metadata":"{\"a\":1}"}`},
	} {
		if want.Device == "" {
			want.Device = "d"
		}
		want.State, want.Time = "A#B", at
		m := parse(t, model(keyed(item)))
		if len(m.Rejected) > 0 {
			t.Errorf("%s: rejected: %s", item, m.Rejected[0].Error)
			continue
		}
		if diff := cmp.Diff(want, m.Items[0].Value); diff != "" {
			t.Errorf("%s: %s", item, diff)
		}
	}
}

// TestItemsRejected: each says its table, its number, the attribute and the reason.
func TestItemsRejected(t *testing.T) {
	const missing = "it is missing"
	for _, c := range []struct{ item, attribute, reason string }{
		{`7`, "", "want an object, found a number"},
		{`{}`, "DeviceID", missing + ", so the item is of no device"},
		{`{"DeviceID": {"S": "d"}}`, "State#Date", missing + ", and so are State and Date"},
		{`{"DeviceID": {"S": "d"}, "State": {"S": "A"}}`, "Date", missing},
		{`{"DeviceID": {"S": "d"}, "Date": {"S": "2020-04-24"}}`, "State", missing},
		{`{"DeviceID": {"S": "d"}, "State#Date": {"S": "A"}}`, "State#Date",
			`want a state, # and a date, found "A"`},
		{`{"DeviceID": {"S": "d"}, "State#Date": {"S": "A#x"}}`, "State#Date",
			`time "x" is not RFC 3339`},
		{`{"DeviceID": {"M": {}}, "State#Date": {"S": "A#x"}}`, "DeviceID",
			`want {"S": "text"}, found "{\"M\":{}}"`},
		{`{"DeviceID": {"S": 7}, "State#Date": {"S": "A#x"}}`, "DeviceID",
			`S is a string, found "7"`},
		{`+, "State": {"S": "B"}}`, "State",
			`"B" is not the state of State#Date, "A#B#2020-04-24T14:40:00"`},
		{`+, "Date": {"S": "2020-04-24"}}`, "Date", `"2020-04-24" is not the date of State#Date`},
		{`+, "Date": {"S": "x"}}`, "Date", `time "x" is not RFC 3339`},
		{`+, "a": {"S": "x"}, "a": {"S": "y"}}`, "a", "it occurs twice"},
		{`+, "a": {"S": "x"}, "Attributes": {"S": "{\"a\":1}"}}`, "a", "it occurs twice"},
		{`+, "a": {"X": "x"}}`, "a", `want one of the types S, N, B, BOOL, NULL, M, L, SS, NS`},
		{`+, "a": {"N": 5}}`, "a", `N is a number within a string, such as "1.5", found "5"`},
		{`+, "a": {"N": "NaN"}}`, "a", `N is a number`},
		{`+, "a": {"B": "ä"}}`, "a", `B is base64`},
		{`+, "a": {"BOOL": "true"}}`, "a", `BOOL is true or false`},
		{`+, "a": {"NULL": false}}`, "a", `NULL is true`},
		{`+, "a": {"SS": []}}`, "a", `SS is an array of strings, one at least`},
		{`+, "a": {"NS": ["x"]}}`, "a", `NS is an array of numbers`},
		{`+, "a": {"BS": ["?"]}}`, "a", `BS is an array of base64`},
		{`+, "a": {"L": {}}}`, "a", `L is an array`},
		{`+, "a": {"M": []}}`, "a", `M is an object`},
		{`+, "a": {"M": {"b": {"L": [{"S": "x"}, 5]}}}}`, "a.b",
			`want a value with its type, such as {"S": "text"}, found "5"`},
		{`+, "a": {"S": "` + strings.Repeat("x", andon.MaxJSONBytes) + `"}}`, "", "attributes are"},
		{`+, "a": ` + strings.Repeat(`{"M":{"a":`, 40) + `7` + strings.Repeat("}}", 40) + `}`, "",
			"nested deeper than 64"},
	} {
		m := parse(t, model(keyed("+}"), keyed(c.item)))
		if len(m.Items) != 1 || len(m.Rejected) != 1 {
			t.Errorf("%s: %d entries, rejected %v", c.item, len(m.Items), m.Rejected)
			continue
		}
		want := `table "t", item 1: `
		if c.attribute != "" {
			want += `attribute "` + c.attribute + `": `
		}
		why := m.Rejected[0]
		if !strings.HasPrefix(why.Error, want+c.reason) || why.Index != 1 {
			t.Errorf("%.99s: index %d: %s", c.item, why.Index, why.Error)
		}
	}
}

// TestFacets: a facet says what the keys of a table of many kinds of items mean.
func TestFacets(t *testing.T) {
	m := parse(t, `{"DataModel": [{"TableName": "One", "TableFacets": [
{"FacetName": "Person", "TableData": [{"PK": {"S": "p"}}]},
{"FacetName": "Log", "TableData": [{"PK": {"S": "d"}, "SK": {"S": "A#2020-04-24"}}],
"KeyAttributeAlias": {"PartitionKeyAlias": "DeviceID", "SortKeyAlias": "State#Date"}}],
"KeyAttributes": {"PartitionKey": {"AttributeName": "PK"}, "SortKey": {"AttributeName": "SK"}}}]}`)
	if len(m.Items) != 1 || m.Items[0].Value.State != "A" {
		t.Errorf("entries %v", m.Items)
	}
	want := `table "One", facet "Person", item 0: attribute "DeviceID": it is missing, ` +
		`so the item is of no device`
	if len(m.Rejected) != 1 || m.Rejected[0].Error != want {
		t.Errorf("rejected %v", m.Rejected)
	}
}

// TestNoModel: one message, with the line.
func TestNoModel(t *testing.T) {
	const table = "{\"DataModel\":[{\"TableName\":"
	for _, c := range []struct {
		text   string
		line   int
		reason string
	}{
		{"", 1, "unexpected end of JSON input"},
		{"device,time\n", 1, "invalid character 'd'"},
		{"[]", 1, "it has a part of the wrong type: array"},
		{"{\n\"a\": 1} x", 2, "invalid character 'x'"},
		{`{"DataModel":7}`, 1, "DataModel has the wrong type: number"},
		{table + "\n7}]}", 2, "DataModel.TableName has the wrong type: number"},
		{table + "\"t\",\n\"TableData\":{}}]}", 2,
			"DataModel.TableData has the wrong type: object"},
		{table + "\"t\",\n\"TableData\":[{]}]}", 2, "invalid character ']'"},
	} {
		_, err := workbench.Parse(c.text)
		want := fmt.Sprintf("line %d: it is no model of NoSQL Workbench: %s", c.line, c.reason)
		if err == nil || !strings.HasPrefix(err.Error(), want) ||
			andon.KindOf(err) != andon.Invalid {
			t.Errorf("%q: %v", c.text, err)
		}
	}
	_, err := workbench.Parse(`{"DataModel":[]}`)
	if err == nil || err.Error() != "nothing can be imported: the model has no table" {
		t.Error(err)
	}
}

// TestBegins recognises a model by its first bytes.
func TestBegins(t *testing.T) {
	for text, want := range map[string]bool{
		`{"ModelName":"x"`: true, "\uFEFF{\r\n  \"DataModel\": [": true, `{"device":"a"`: false,
		`[{"ModelName"`: false, `{"andon":"export"`: false, "": false, "{": false,
		`{"ModelNames"`: false,
	} {
		if got := workbench.Begins([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
