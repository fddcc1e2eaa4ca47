package jsonfeed_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
)

func TestReadingIsReadWhole(t *testing.T) {
	const body = `{"device":"press-7","time":"2020-04-24T14:40:00Z","fw_date":"x",
 "metrics":{"temperature":21.5,"on":true,"humidity":-4.0e1,"off":false,"zero":-0.0},
 "metadata":{"fw":"1.2"}}`
	want := andon.Reading{
		Device: "press-7", Time: at2020, Metadata: `{"fw":"1.2","fw_date":"x"}`,
		Metrics: andon.Metrics{
			{Name: "humidity", Value: -40}, {Name: "off", Value: 0}, {Name: "on", Value: 1},
			{Name: "temperature", Value: 21.5}, {Name: "zero", Value: 0},
		},
	}
	batch, err := jsonfeed.Readings(body, jsonfeed.JSON, andon.Milliseconds, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, batch.Items[0].Value); diff != "" {
		t.Error(diff)
	}
}

// TestReadingOfDynamoDB: its items hold metadata as text, and null where a sensor had no value.
func TestReadingOfDynamoDB(t *testing.T) {
	const body = `{"device":"d","metrics":{"a":1,"b":null},"fw":2,` +
		`"metadata":"{\"line\": \"L\\u0033\"}"}`
	batch, err := jsonfeed.Readings(body, jsonfeed.JSON, andon.Milliseconds, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := andon.Reading{
		Device: "d", Metrics: andon.Metrics{{Name: "a", Value: 1}},
		Metadata: `{"line": "L\u0033","fw":2}`,
	}
	if diff := cmp.Diff(want, batch.Items[0].Value); diff != "" {
		t.Error(diff)
	}
	batch, err = jsonfeed.Readings(
		`{"device":"d","metrics":{"a":1},"metadata":" "}`, jsonfeed.JSON, andon.Milliseconds, nil)
	if err != nil || batch.Items[0].Value.Metadata != "" {
		t.Errorf("an empty text: %v, %v", batch.Items, err)
	}
}

// TestReadingRefused has the members next to the device, and where and why the reading is refused.
func TestReadingRefused(t *testing.T) {
	many := make([]string, andon.MaxMetrics+1)
	for i := range many {
		many[i] = fmt.Sprintf(`"m%d":1`, i)
	}
	for _, c := range []struct{ members, location, message string }{
		{`"x":null,"metrics":null,"metadata":null,"time":7`, "body.time",
			`at byte 61: time "7" is outside 1970-01-02T00:00:00Z to 9999-12-31T23:59:59.999999Z`},
		{`"metrics":null`, "body.metrics", `there is no metric`},
		{`"metrics":{}`, "body.metrics", `there is no metric`},
		{`"metrics":[]`, "body.metrics", `at byte 24: metrics: want an object, found an array`},
		{`"metrics":{"a":null}`, "body.metrics",
			`there is no metric`},
		{`"metrics":{"a":"1"}`, "body.metrics",
			`at byte 29: metric "a": want a number, true or false, found a string`},
		{`"metrics":{"a":{}}`, "body.metrics",
			`at byte 29: metric "a": want a number, true or false, found an object`},
		{`"metrics":{"a":1e999}`, "body.metrics",
			`at byte 29: metric "a": "1e999" is not below 1e+126`},
		{`"metrics":{"a":1e126}`, "body.metrics",
			`at byte 29: metric "a": 1e+126 is not below 1e+126`},
		{`"metrics":{"a":1e-999}`, "body.metrics",
			`at byte 29: metric "a": "1e-999" is nearer to 0 than 1e-130 but not 0`},
		{`"metrics":{"a":1e-131}`, "body.metrics",
			`at byte 29: metric "a": 1e-131 is nearer to 0 than 1e-130 but not 0`},
		{`"metrics":{"a":1,"b":2,"\u0061":1}`, "body.metrics",
			`metric "a" occurs twice`},
		{`"metrics":{"":1}`, "body.metrics", `metric is missing`},
		{`"metrics":{` + strings.Join(many, ",") + `}`, "body.metrics",
			`at byte 8915: more than 1000 metrics`},
		{`"metrics":{"a":1,}`, "body", `at byte 30: there is nothing between ',' and '}'`},
		{`"metrics":{"a":01}`, "body", `at byte 29: a number has no 0 before other digits`},
		{`"metadata":1`, "body.metadata", `at byte 25: metadata: want an object, found a number`},
		{`"metadata":"[1]"`, "body.metadata", `at byte 25: metadata: want an object, or ` +
			`a string that holds one: want an object, found an array`},
		{`"metadata":"{} x"`, "body.metadata", `at byte 25: metadata: want an object, or ` +
			`a string that holds one: want the end, found x`},
	} {
		t.Run(c.members[:min(len(c.members), 40)], func(t *testing.T) {
			body := `{"device":"d",` + c.members + `}`
			_, err := jsonfeed.Readings(body, jsonfeed.JSON, andon.Milliseconds, nil)
			wantRefusal(t, err, c.location, c.message)
		})
	}
}

// TestNotFiniteMetric has what Python's json.dumps writes for numbers that are not finite: each
// costs its own reading only.
func TestNotFiniteMetric(t *testing.T) {
	const body = `[{"device":"a","metrics":{"t":NaN}},{"device":"b","metrics":{"t":1}},
{"device":"c","metrics":{"t":-Infinity}},{"device":"d","metadata":{"x":Infinity},"metrics":{"t":2}},
{"device":"e","metrics":{"t":3}}]`
	batch, err := jsonfeed.Readings(body, jsonfeed.JSON, andon.Milliseconds, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range batch.Items {
		got = append(got, fmt.Sprintf("%d %s", item.Index, item.Value.Device))
	}
	for _, r := range batch.Rejected {
		got = append(got, fmt.Sprintf("%d %s", r.Index, r.Error))
	}
	if diff := cmp.Diff([]string{
		"1 b", "4 e",
		`0 at byte 30: metric "t": want a number, true or false, found NaN`,
		`2 at byte 99: metric "t": want a number, true or false, found -Infinity`,
		"3 at byte 141: metadata: want a value, found Infinity",
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAssignments(t *testing.T) {
	const body = `[{"device":"a","operator":"Liz"},{"device":"b","operator":null},
{"device":"c","operator":""},{"device":"d"},{"operator":"Liz"},{"device":"e","operator":7},
{"device":"f","operator":"Liz","from":1},{"device":"g","operator":".."}]`
	batch, err := jsonfeed.Assignments(body, jsonfeed.JSON, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range batch.Items {
		e := item.Value
		got = append(got, fmt.Sprintf("%d %s=%s", item.Index, e.Device, e.Operator))
	}
	for _, r := range batch.Rejected {
		got = append(got, fmt.Sprintf("%d %s", r.Index, r.Error))
	}
	if diff := cmp.Diff([]string{
		"0 a=Liz", "1 b=", "2 operator is empty: a name assigns, null unassigns",
		"3 operator is missing; null unassigns",
		"4 device is missing",
		"5 at byte 153: operator: want a string, found a number",
		`6 at byte 188: an assignment has no field "from"`,
		`7 operator can't be ".."`,
	}, got); diff != "" {
		t.Error(diff)
	}
}

// TestFlatItem: an item of the table in the time-series guide is a reading as it is.
func TestFlatItem(t *testing.T) {
	const flat = `{"deviceId":"d","timestamp":"2020-04-24T14:40:00Z","temperature":21.5,"on":true,
 "pressure":null,"metricType":"temperature","metadata":"{\"fw\":\"1.2\"}","ttl":1767443696}`
	want := andon.Reading{
		Device: "d", Time: at2020, Metadata: `{"fw":"1.2","metricType":"temperature"}`,
		Metrics: andon.Metrics{{Name: "on", Value: 1}, {Name: "temperature", Value: 21.5}},
	}
	batch, err := jsonfeed.Readings(flat, jsonfeed.JSON, andon.Milliseconds, nil)
	if err != nil || len(batch.Items) != 1 {
		t.Fatalf("%+v, %v", batch, err)
	}
	if diff := cmp.Diff(want, batch.Items[0].Value); diff != "" {
		t.Error(diff)
	}
	alone, err := jsonfeed.FlatReading(flat, andon.Milliseconds)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, alone); diff != "" {
		t.Error(diff)
	}
	const noted = `{"deviceId":"d","timestamp":"2020-04-24T14:40:00Z","metadata":{"fw":"1.2"}}`
	if r, err := jsonfeed.FlatReading(noted, andon.Milliseconds); err != nil || r.Metadata == "" {
		t.Errorf("metadata alone: %+v, %v", r, err)
	}
	for text, reason := range map[string]string{
		`{"deviceId":"d","ttl":1}`:                         "there is no metric",
		`{"deviceId":7,"a":1}`:                             "deviceId: want a string",
		`{"deviceId":"d","timestamp":"soon","a":1}`:        "soon",
		`{"deviceId":"d","a":1,"a":2}`:                     `metric "a" occurs twice`,
		`{"deviceId":"d","a":1e999}`:                       `metric "a": `,
		`{"deviceId":"d","a":1,"metadata":"[1]"}`:          "metadata: want an object",
		`{"deviceId":"d","deviceId":"e","a":1}`:            "occurs twice",
		`{"deviceId":"d","time":"2020-04-24","a":1}`:       "is it that?", // no flat item
		`{"deviceId":"d","metrics":{"b":1},"a":1}`:         "is it that?",
		`{"timestamp":"2020-04-24T14:40:00Z","a":1}`:       "device is missing",
		`{"deviceId":"d","x":[1],"metadata":{"x":"y"}}`:    "occurs twice",
		`{"deviceId":"d","a":1,"x":"","metadata":{"x":1}}`: "occurs twice",
	} {
		_, err := jsonfeed.Readings(text, jsonfeed.JSON, andon.Milliseconds, nil)
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, want %s", text, err, reason)
		}
	}
}
