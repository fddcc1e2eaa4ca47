package jsonfeed_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
)

// at2020 is 2020-04-24T14:40:00Z.
const at2020 = andon.Time(1_587_739_200_000_000)

func TestEventIsReadWhole(t *testing.T) {
	const body = `{"device":"d#12345","time":"2020-04-24T14:40:00Z","state":"WARNING1",
 "operator":"Liz","message":"over\theat \ud83d\ude00",
 "attributes":{"line":"L3", "n": 1e0 },"escalated_to":"Sara"}`
	want := andon.Event{
		Device: "d#12345", Time: at2020, State: "WARNING1", Operator: "Liz", EscalatedTo: "Sara",
		Message: "over\theat 😀", Attributes: `{"line":"L3", "n": 1e0 }`,
	}
	batch, err := jsonfeed.Events(body, jsonfeed.JSON, andon.Milliseconds, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ingest.Batch[andon.Event]{
		Items: []ingest.Item[andon.Event]{{Value: want}}, Single: true,
	}, batch); diff != "" {
		t.Error(diff)
	}
}

// TestEventForms has what is accepted: the members next to device and state, and what they become.
func TestEventForms(t *testing.T) {
	for members, want := range map[string]andon.Event{
		`"time":1587739200000`:                      {Time: at2020},
		`"time":1587739200000.1239`:                 {Time: at2020 + 123},
		`"time":1.5877392e12`:                       {Time: at2020},
		`"time":null,"operator":null`:               {},
		`"time":"","operator":"","message":""`:      {},
		`"escalated_to":null,"attributes":null`:     {},
		`"attributes":{}`:                           {Attributes: `{}`},
		`"oper\u0061tor":"L\u0069z"`:                {Operator: "Liz"},
		`"Operator":"Liz"`:                          {Attributes: `{"Operator":"Liz"}`},
		`"a" : 1,"b":[true, null]`:                  {Attributes: `{"a" : 1,"b":[true, null]}`},
		`"a":1,"attributes":{ "b":2 }`:              {Attributes: `{ "b":2 ,"a":1}`},
		`"a":1,"attributes":{ }`:                    {Attributes: `{"a":1}`},
		`"a":1,"attributes":{"b":{}}`:               {Attributes: `{"b":{},"a":1}`},
		`"message":"Grüße \\ \/ \b\f\n\r\t \u00e9"`: {Message: "Grüße \\ / \b\f\n\r\t é"},
		`"attributes":` + nested(andon.MaxJSONDepth): {
			Attributes: andon.JSON(nested(andon.MaxJSONDepth))},
	} {
		t.Run(members, func(t *testing.T) {
			want.Device, want.State = "d", "S"
			body := `{"device":"d","state":"S",` + members + `}`
			batch, err := jsonfeed.Events(body, jsonfeed.JSON, andon.Milliseconds, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, batch.Items[0].Value); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// nested returns objects in one another, n deep.
func nested(n int) string {
	return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1)
}

// TestEventRefused has one object alone each: the members next to device and state, and where and
// why it is refused.
func TestEventRefused(t *testing.T) {
	long := strings.Repeat("x", andon.MaxJSONBytes)
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	for _, c := range []struct{ members, location, message string }{
		{`"a":1,`, "body", `at byte 31: there is nothing between ',' and '}'`},
		{`"a":01`, "body", `at byte 30: a number has no 0 before other digits`},
		{`"a":+1`, "body", `at byte 30: a number begins with a digit or '-', not '+'`},
		{`"a":.5`, "body", `at byte 30: a number begins with a digit or '-', not '.'`},
		{`"a":1.`, "body", `at byte 32: want a digit after the point, found '}'`},
		{`"a":1e`, "body", `at byte 32: want a digit of the exponent, found '}'`},
		{`"a":-`, "body", `at byte 31: want a digit after '-', found '}'`},
		{`"a":NaN`, "body", `at byte 30: want a value, found NaN`},
		{`"a":Infinity`, "body", `at byte 30: want a value, found Infinity`},
		{`"a":-Infinity`, "body", `at byte 30: want a value, found -Infinity`},
		{`"a":'b'`, "body", `at byte 30: want a value, found '\''`},
		{`"a":nul`, "body", `at byte 30: want a value, found nul`},
		{`"a":1 "b":2`, "body", `at byte 32: want ',' or '}', found a string`},
		{`"a" 1`, "body", `at byte 30: want ':' after the name "a", found a number`},
		{`a:1`, "body", `at byte 26: want a name in double quotes, found a`},
		{`"a":"b`, "body", `at byte 30: a string that is not closed`},
		{`"message":"b` + "\n" + `"`, "body",
			`at byte 38: the control character 0x0a in a string must be escaped`},
		{`"message":"\x"`, "body", `at byte 37: an escape that JSON does not have`},
		{`"message":"\u12G4"`, "body", `at byte 37: an escape that JSON does not have`},
		{`"message":"é` + "\xff" + `"`, "body.message",
			`at byte 39: message: a byte that is not valid UTF-8`},
		{`"a":"` + "\xc3" + `"`, "body", `at byte 31: a byte that is not valid UTF-8`},
		{`"message":"\ud800"`, "body.message",
			`at byte 37: message: an escape that is half of a surrogate pair`},
		{`"message":"x\udc00\ud800"`, "body.message",
			`at byte 38: message: an escape that is half of a surrogate pair`},
		{`"attributes":["\ud800a"]`, "body.attributes",
			`at byte 39: attributes: want an object, found an array`},
		{`"attributes":{"a":"\ud800a"}`, "body.attributes",
			`at byte 45: attributes: an escape that is half of a surrogate pair`},
		{`"attributes":` + nested(andon.MaxJSONDepth+1), "body.attributes",
			`at byte 359: attributes: nested deeper than 64`},
		{`"a":` + nested(andon.MaxJSONDepth), "body", `at byte 345: nested deeper than 64`},
		{`"a":` + deep, "body", `at byte 93: nested deeper than 64`},
		{`"a":` + deep[1:], "body", `at byte 20028: want ',' or '}', found ']'`},
		{`"device":"d"`, "body.device", `at byte 26: the field "device" occurs twice`},
		{`"d\u0065vice":"d"`, "body.device", `at byte 26: the field "device" occurs twice`},
		{`"time":null,"time":1587739200000`, "body.time",
			`at byte 38: the field "time" occurs twice`},
		{`"a":1,"b":2,"a":3`, "body", `at byte 38: the field "a" occurs twice`},
		{`"a":1,"attributes":{"b":1,"a":2}`, "body.attributes",
			`at byte 26: the field "a" occurs twice: next to and inside attributes`},
		{`"a":"` + long + `","attributes":{}`, "body.attributes",
			`at byte 26: attributes are longer than 65536 bytes`},
		{`"attributes":{"a":"` + long + `"}`, "body.attributes",
			`at byte 39: attributes are longer than 65536 bytes`},
		{`"operator":7`, "body.operator", `at byte 37: operator: want a string, found a number`},
		{`"operator":true`, "body.operator", `at byte 37: operator: want a string, found true`},
		{`"operator":{}`, "body.operator", `at byte 37: operator: want a string, found an object`},
		{`"attributes":"{}"`, "body.attributes",
			`at byte 39: attributes: want an object, found a string`},
		{`"time":false`, "body.time", `at byte 33: time: want a string or a number, found false`},
		{`"time":0`, "body.time", `at byte 33: time "0" is outside 1970-01-02T00:00:00Z to ` +
			`9999-12-31T23:59:59.999999Z`},
		{`"time":-1`, "body.time", `at byte 33: time "-1" is not a number that a time can be`},
		{`"time":1e999`, "body.time",
			`at byte 33: time "1e999" is not a number that a time can be`},
		{`"time":"yesterday"`, "body.time",
			`at byte 33: time "yesterday" is not RFC 3339, such as 2026-11-20T06:00:00Z`},
		{`"operator":"a\u0000"`, "body.operator",
			`operator holds a control character at byte 1`},
		{`"message":"` + strings.Repeat("x", andon.MaxMessageBytes+1) + `"`, "body.message",
			`message is 16385 bytes long, more than 16384`},
	} {
		t.Run(c.members[:min(len(c.members), 40)], func(t *testing.T) {
			_, err := jsonfeed.Events(`{"device":"d","state":"S",`+c.members+`}`,
				jsonfeed.JSON, andon.Milliseconds, nil)
			wantRefusal(t, err, c.location, c.message)
		})
	}
}

// TestBodyRefused has bodies that are refused as a whole.
func TestBodyRefused(t *testing.T) {
	for _, c := range []struct {
		body              string
		format            jsonfeed.Format
		location, message string
	}{
		{"", jsonfeed.JSON, "body", "the body is empty"},
		{" \r\n\t", jsonfeed.JSON, "body", "the body is empty"},
		{"\n", jsonfeed.NDJSON, "body", "the body is empty"},
		{"hello", jsonfeed.JSON, "body", "at byte 0: want an object or an array, found hello"},
		{"\x00", jsonfeed.JSON, "body", `at byte 0: want an object or an array, found '\x00'`},
		{"\x1f\x8b", jsonfeed.JSON, "body", "at byte 0: want an object or an " +
			"array, found gzip: say so with Content-Encoding: gzip"},
		{"null", jsonfeed.JSON, "body", "at byte 0: want an object or an array, found null"},
		{"{}", jsonfeed.JSON, "body.device", "device is missing"},
		{`{"device":"d"}`, jsonfeed.JSON, "body.state", "state is missing"},
		{`{"device":null}`, jsonfeed.JSON, "body.device", "device is missing"},
		{"{", jsonfeed.JSON, "body", "at byte 1: want a name in double quotes, found the end"},
		{`{"device":"d","state":"S"} {}`, jsonfeed.JSON, "body",
			"at byte 27: want the end after one object (objects line by line are NDJSON), " +
				"found an object"},
	} {
		t.Run(c.body, func(t *testing.T) {
			_, err := jsonfeed.Events(c.body, c.format, andon.Milliseconds, nil)
			wantRefusal(t, err, c.location, c.message)
		})
	}
}

func wantRefusal(t *testing.T, err error, location, message string) {
	t.Helper()
	var e *andon.Error
	if !errors.As(err, &e) || len(e.Fields) == 0 {
		t.Fatalf("got %v, want an andon.Error with fields", err)
	}
	want := andon.FieldError{Location: location, Message: message}
	if diff := cmp.Diff(want, e.Fields[0]); diff != "" || e.Kind != andon.Invalid {
		t.Errorf("%s: %s", e.Kind, diff)
	}
}

const good = `{"device":"d","state":"S"}`

// accounts lists what became of the entries of a batch: "0 ok", or index, line and reason.
func accounts(batch ingest.Batch[andon.Event]) (lines []string) {
	rejected := batch.Rejected
	for _, item := range batch.Items {
		for len(rejected) > 0 && rejected[0].Index < item.Index {
			r := rejected[0]
			lines = append(lines, fmt.Sprintf("%d:%d %s", r.Index, r.Line, r.Error))
			rejected = rejected[1:]
		}
		lines = append(lines, fmt.Sprintf("%d:%d ok", item.Index, item.Line))
	}
	for _, r := range rejected {
		lines = append(lines, fmt.Sprintf("%d:%d %s", r.Index, r.Line, r.Error))
	}
	return lines
}

// TestNothingGoodIsLost has bodies of several entries: a bad one takes no good one with it.
func TestNothingGoodIsLost(t *testing.T) {
	for _, c := range []struct {
		name, body string
		format     jsonfeed.Format
		want       []string
	}{
		{"empty array", "[]", jsonfeed.JSON, nil},
		{"array", " [" + good + ",\r\n" + good + "] \n", jsonfeed.JSON,
			[]string{"0:0 ok", "1:0 ok"}},
		{"elements of other types", "[7," + good + `,null,"x",[]]`, jsonfeed.JSON, []string{
			"0:0 at byte 1: want an object, found a number",
			"1:0 ok",
			"2:0 at byte 30: want an object, found null",
			"3:0 at byte 35: want an object, found a string",
			"4:0 at byte 39: want an object, found an array",
		}},
		{"invalid elements", `[{"device":"d"},` + good + `,{"device":"\ud800"},` + good + `]`,
			jsonfeed.JSON, []string{
				"0:0 state is missing",
				"1:0 ok",
				"2:0 at byte 54: device: an escape that is half of a surrogate pair",
				"3:0 ok",
			}},
		{"deep element", "[" + good + "," + strings.Repeat(`{"a":`, 10_000) + "1" +
			strings.Repeat("}", 10_000) + "," + good + "]", jsonfeed.JSON,
			[]string{"0:0 ok", "1:0 at byte 348: nested deeper than 64", "2:0 ok"}},
		{"numbers that JSON lacks", `[{"a":NaN},` + good + `,{"time":-Infinity},[Infinity],NaN,` +
			good + `]`, jsonfeed.JSON, []string{
			"0:0 at byte 6: want a value, found NaN",
			"1:0 ok",
			"2:0 at byte 46: time: want a value, found -Infinity",
			"3:0 at byte 57: want an object, found an array",
			"4:0 at byte 68: want an object, found NaN",
			"5:0 ok",
		}},
		{"lines", good + "\r\n\n \t\r\n" + good + "\n", jsonfeed.NDJSON,
			[]string{"0:1 ok", "1:4 ok"}},
		{"bad lines", "x\n" + good + "\n" + good + " " + good + "\n" + good + ",\n" +
			`{"device":"d` + "\n" + `7` + "\n\xff", jsonfeed.NDJSON, []string{
			"0:1 at byte 0: want a value, found x",
			"1:2 ok",
			"2:3 at byte 27: want the end, found an object",
			"3:4 at byte 26: want the end, found ','",
			"4:5 at byte 10: a string that is not closed",
			"5:6 at byte 0: want an object, found a number",
			"6:7 at byte 0: want a value, found the byte 0xff",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			batch, err := jsonfeed.Events(c.body, c.format, andon.Milliseconds, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, accounts(batch)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBrokenArrayIsRefusedWhole has arrays whose syntax breaks: what comes after that place can't
// be known, so the good entries before it are not kept either.
func TestBrokenArrayIsRefusedWhole(t *testing.T) {
	for _, c := range []struct{ name, body, place string }{
		{"element", "[" + good + `,{"device":d},` + good + "]",
			"at byte 38: want a value, found d; nothing of the array was kept: fix it at entry 1"},
		{"cut off in an element", "[" + good + "," + good[:20],
			"at byte 42: a string that is not closed; "},
		{"cut off between two", "[" + good, "at byte 27: want ',' or ']', found the end; "},
		{"trailing comma", "[" + good + " , ]",
			"at byte 28: there is nothing between ',' and ']'; "},
		{"trailing garbage", "[" + good + "] []",
			"at byte 29: want the end after the array, found an array; "},
		{"two words", "[" + good + `,{"a":NaNInfinity}]`, "at byte 36: want ',' or '}'"},
		{"no number", "[" + good + `,{"a":-NaN}]`,
			"at byte 34: want a digit after '-', found NaN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := jsonfeed.Events(c.body, jsonfeed.JSON, andon.Milliseconds, nil)
			if andon.KindOf(err) != andon.Invalid || !strings.HasPrefix(err.Error(), c.place) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNothingReadable(t *testing.T) {
	_, err := jsonfeed.Events("a\n\nb\nc\nd", jsonfeed.NDJSON, andon.Milliseconds, nil)
	want := &andon.Error{
		Message: "nothing could be read: line 1, at byte 0: want a value, found a",
		Fields: []andon.FieldError{
			{Location: "body[0]", Message: "line 1, at byte 0: want a value, found a"},
			{Location: "body[1]", Message: "line 3, at byte 0: want a value, found b"},
			{Location: "body[2]", Message: "line 4, at byte 0: want a value, found c"},
		},
	}
	var got *andon.Error
	if !errors.As(err, &got) || got.Kind != andon.Invalid {
		t.Fatalf("got %v", err)
	}
	if got.Message != want.Message {
		t.Errorf("got %q", got.Message)
	}
	if diff := cmp.Diff(want.Fields, got.Fields); diff != "" {
		t.Error(diff)
	}
}

// TestNoObjects: what is JSON and no object is no entry that could be read.
func TestNoObjects(t *testing.T) {
	for body, format := range map[string]jsonfeed.Format{
		"[1,2]": jsonfeed.JSON, "[NaN]": jsonfeed.JSON, "[[]]": jsonfeed.JSON,
		"1\n2": jsonfeed.NDJSON, "[{}]": jsonfeed.NDJSON, "x\n null": jsonfeed.NDJSON,
	} {
		_, err := jsonfeed.Events(body, format, andon.Milliseconds, nil)
		if err == nil || !strings.Contains(err.Error(), "nothing could be read: ") {
			t.Errorf("%q: %v", body, err)
		}
	}
	batch, err := jsonfeed.Events("[1,{}]", jsonfeed.JSON, andon.Milliseconds, nil)
	if err != nil || len(batch.Rejected) != 2 {
		t.Errorf("an entry without a device: %+v, %v", batch, err)
	}
}

func TestTooManyEntries(t *testing.T) {
	for _, c := range []struct {
		n    int
		kind andon.Kind
	}{{andon.MaxRequestEntries, andon.Internal}, {andon.MaxRequestEntries + 1, andon.TooLarge}} {
		list := "[" + strings.Repeat("{},", c.n-1) + "{}]"
		lines := strings.Repeat("{}\n", c.n)
		_, errList := jsonfeed.Events(list, jsonfeed.JSON, andon.Milliseconds, nil)
		_, errLines := jsonfeed.Events(lines, jsonfeed.NDJSON, andon.Milliseconds, nil)
		for _, err := range []error{errList, errLines} {
			refused := err != nil
			if refused != (c.kind == andon.TooLarge) || refused && andon.KindOf(err) != c.kind {
				t.Errorf("%d entries: %v", c.n, err)
			}
		}
	}
}

// TestReadEventsAreParts shows that an event without escapes costs no allocation of its own.
func TestReadEventsAreParts(t *testing.T) {
	body := strings.Join(fleet(1000), "\n")
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := jsonfeed.Events(body, jsonfeed.NDJSON, andon.Milliseconds, nil); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 16 { // the batch grows
		t.Errorf("%v allocations for 1,000 events", allocs)
	}
}

// TestMemoryIsAskedFor: what entries take is asked for while they are read, those that are rejected
// included, and a refusal ends the reading at once.
func TestMemoryIsAskedFor(t *testing.T) {
	const n = 1000
	for name, entry := range map[string]string{"kept": good, "rejected": "{}"} {
		for format, body := range map[jsonfeed.Format]string{
			jsonfeed.JSON:   "[" + strings.Repeat(entry+",", n-1) + entry + "]",
			jsonfeed.NDJSON: strings.Repeat(entry+"\n", n),
		} {
			var taken int64
			take := func(bytes int64) error { taken += bytes; return nil }
			if _, err := jsonfeed.Events(body, format, andon.Milliseconds, take); err != nil {
				t.Fatal(err)
			}
			if taken < n*200 || taken > n*1000 {
				t.Errorf("%s: %d entries took %d bytes", name, n, taken)
			}
			taken = 0
			full := andon.Errorf(andon.Busy, "no more")
			take = func(bytes int64) error {
				if taken += bytes; taken > 20_000 {
					return full
				}
				return nil
			}
			if _, err := jsonfeed.Events(body, format, andon.Milliseconds, take); err != full {
				t.Errorf("%s: got %v", name, err)
			}
			if taken > 40_000 {
				t.Errorf("%s: %d bytes were asked for after the refusal", name, taken)
			}
		}
	}
}
