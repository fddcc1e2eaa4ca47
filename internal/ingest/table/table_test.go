package table_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/table"
)

func open(t *testing.T, text string, o table.Options) *table.Table {
	t.Helper()
	tab, err := opened(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// listed lists entries and errors, one line each.
func listed[T any](items table.Items[T], err error, show func(T) string) (lines []string) {
	if err != nil {
		return []string{err.Error()}
	}
	for item, err := range items {
		switch {
		case err != nil:
			lines = append(lines, err.Error())
		case item.Bad != nil && item.Line == 0:
			lines = append(lines, fmt.Sprintf("entry %d: %s", item.Index, item.Bad))
		case item.Bad != nil:
			lines = append(lines, fmt.Sprintf("line %d: %s", item.Line, item.Bad))
		default:
			lines = append(lines,
				fmt.Sprintf("%d:%d %s", item.Index, item.Line, show(item.Value)))
		}
	}
	return lines
}

func showEvent(e andon.Event) string {
	return fmt.Sprintf("%s %s %s op=%s to=%s %q %s",
		e.Device, e.Time, e.State, e.Operator, e.EscalatedTo, e.Message, e.Attributes)
}

func showReading(r andon.Reading) string {
	text, _ := r.Metrics.MarshalJSON()
	return fmt.Sprintf("%s %s %s %s", r.Device, r.Time, text, r.Metadata)
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

var plain = table.Mapping{
	Device: []string{"device"}, Time: []string{"time"}, State: []string{"state"},
	Precision: andon.Seconds,
}

func TestCSVGoesOnAfterBadRows(t *testing.T) {
	m := plain
	m.Message = []string{"note"}
	entries, err := open(t, "\uFEFFdevice, time ,state,note\r\n"+
		"a,2020-04-24 14:40:00,ON,\r\n"+
		"\r\n"+
		"b,1587739200.5,ON,\"two\r\nlines, \"\"quoted\"\"\"\r\n"+
		"c,2020-04-24,ON\n"+
		"d,yesterday,ON,\n"+
		",2020-04-24,ON,\n"+
		"e,2020-04-24,O\"N,\n"+
		"f,2020-04-24,\"ON\"x,\n"+
		"g,2020-04-24,\"ON,\n"+
		"h,,ON,\n"+
		"i,2020-04-24,\xff,\n"+
		"j,2020-04-24,\"a,b\",\n"+
		"k,2020-04-24,ON,"+strings.Repeat("x", 2<<20)+"\n"+
		"l,2020-04-24,ON,last", table.Options{}).Events(m)
	wantLines(t, listed(entries, err, showEvent),
		`0:2 a 2020-04-24T14:40:00Z ON op= to= "" `,
		`1:4 b 2020-04-24T14:40:00.5Z ON op= to= "two\nlines, \"quoted\"" `,
		`line 6: the row has 3 cells, not 4`,
		`line 7: column time: time "yesterday" is not RFC 3339, such as 2026-11-20T06:00:00Z`,
		`line 8: device is missing`,
		`line 9: cell 3 has a quote but does not begin with one`,
		`line 10: cell 3 goes on after its closing quote`,
		`line 11: cell 3 goes on after its closing quote`,
		`line 12: column time: time is missing`,
		`line 13: cell 3 is not valid UTF-8: save the file as UTF-8`,
		`line 14: state holds ',', `+
			`which lists and prefixes of states are written with`,
		`line 15: longer than 1048576 bytes`,
		`12:16 l 2020-04-24T00:00:00Z ON op= to= "last" `,
	)
}

// TestCSVKeepsCarriageReturns: where lines end in "\n", those within quotes belong to the cell,
// also in an empty line. Those between rows do not.
func TestCSVKeepsCarriageReturns(t *testing.T) {
	m := plain
	m.Message = []string{"note"}
	entries, err := open(t, "\r\ndevice,time,state,note\n"+
		"\r\na,2020-04-24,ON,\"1\r\n\r\n\r\n3\r\"\n\r\n\nb,2020-04-24,ON,x\r\n",
		table.Options{}).Events(m)
	wantLines(t, listed(entries, err, showEvent),
		`0:4 a 2020-04-24T00:00:00Z ON op= to= "1\r\n\r\n\r\n3\r" `,
		`1:10 b 2020-04-24T00:00:00Z ON op= to= "x" `,
	)
}

func TestCSVQuoteNeverClosed(t *testing.T) {
	for _, filler := range []string{"", strings.Repeat("b,2020-04-24,ON\n", 100_000)} {
		text := "device,time,state\na,2020-04-24,\"ON\n" + filler + "c,2020-04-24,ON\n"
		entries, err := open(t, text, table.Options{}).Events(plain)
		lines := listed(entries, err, showEvent)
		if lines[0] != "line 2: a quote is not closed" {
			t.Errorf("got %q", lines[0])
		}
		if n := strings.Count(filler, "\n"); len(lines) != n+2 ||
			lines[n+1] != fmt.Sprintf("%d:%d c 2020-04-24T00:00:00Z ON op= to= \"\" ", n+1, n+3) {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
	}
}

func TestJSONRows(t *testing.T) {
	m := plain
	m.Device = []string{"site", "id.nr"}
	m.Attributes = []string{"x", "id.*"}
	const good = `{"site":"s\u0031","id":{"nr":7,"k":null},"time":1587739200,"state":"ON",` +
		`"x":[1, 2]}`
	rows := []string{
		good,
		`{"site":"s","time":"2020-04-24","state":"ON","unknown":{}}`,
		`{"time":1,"state":"ON"}`,
		`7`,
		`{"site":"s","site":"t"}`,
		`{"site":"` + "\xff" + `"}`,
		`{"site":"s","id":{"x":1},"x":2,"time":1587739200,"state":"ON"}`,
		good,
	}
	want := []string{
		`0:% s1/7 2020-04-24T14:40:00Z ON op= to= "" {"x":[1, 2],"nr":7,"k":null}`,
		`1:% s 2020-04-24T00:00:00Z ON op= to= "" `,
		`%: column time: time "1" is outside 1970-01-02T00:00:00Z to 9999-12-31T23:59:59.999999Z`,
		`%: at byte 0: want an object, found a number`,
		`%: the field "site" occurs twice`,
		`%: at byte 9: a byte that is not valid UTF-8`,
		`%: column id.x: the name "x" occurs twice`,
		`7:% s1/7 2020-04-24T14:40:00Z ON op= to= "" {"x":[1, 2],"nr":7,"k":null}`,
	}
	for isArray, text := range map[bool]string{
		true:  "[" + strings.Join(rows, ",\n") + "]\n",
		false: "\uFEFF" + strings.Join(rows, "\r\n"),
	} {
		entries, err := open(t, text, table.Options{Format: table.JSON}).Events(m)
		got := listed(entries, err, showEvent)
		if len(got) != len(want) {
			t.Fatalf("array %t: %q", isArray, got)
		}
		for i := range got {
			line, place := i+1, fmt.Sprintf("line %d", i+1)
			if isArray {
				line, place = 0, fmt.Sprintf("entry %d", i)
			}
			expect := strings.Replace(want[i], "%", place, 1)
			if want[i][0] != '%' {
				expect = strings.Replace(want[i], "%", fmt.Sprint(line), 1)
			}
			if got[i] != expect {
				t.Errorf("array %t: got %s\nwant %s", isArray, got[i], expect)
			}
		}
	}
}

func TestJSONArrayBreaks(t *testing.T) {
	const row = `{"device":"a","time":"2020-04-24","state":"ON"}`
	const lost = "; nothing after it can be read, at byte 49"
	for text, want := range map[string]string{
		"[" + row + ",":   "the file ends within entry 1",
		"[" + row:         "the array is not closed after 1 entries, at byte 48",
		"[" + row + "] x": "something follows the array, at byte 50",
		"[" + row + ",]":  "entry 1: invalid character ']' looking for beginning of value" + lost,
	} {
		entries, err := open(t, text, table.Options{Format: table.JSON}).Events(plain)
		lines := listed(entries, err, showEvent)
		if diff := cmp.Diff(want, lines[len(lines)-1]); diff != "" || len(lines) != 2 {
			t.Errorf("%s: %q\n%s", text, lines, diff)
		}
	}
}

// TestMembersOfNoField: as over HTTP they are attributes, unless columns are named for these.
func TestMembersOfNoField(t *testing.T) {
	const rows = `{"device":"a","time":"2020-04-24","state":"ON","n":1,"o":{"p":null},"a.b":"c",` +
		`"attributes":{"x":2}}
{"device":"b","time":"2020-04-24","state":"ON","x":1,"attributes":{"x":2}}
{"device":"c","time":"2020-04-24","state":"ON","late":[]}
`
	read := func(m table.Mapping) (all []string) {
		entries, err := open(t, rows, table.Options{Format: table.JSON}).Events(m)
		if err != nil {
			t.Fatal(err)
		}
		for item := range entries {
			if item.Bad != nil {
				all = append(all, item.Bad.Error())
			} else {
				all = append(all, string(item.Value.Attributes))
			}
		}
		return all
	}
	wantLines(t, read(table.Mapping{}), `{"x":2,"n":1,"o":{"p":null},"a.b":"c"}`,
		`column x: the name "x" occurs twice`, `{"late":[]}`)
	wantLines(t, read(table.Mapping{Attributes: []string{"n"}}), `{"n":1}`, "", "")
	wantLines(t, read(table.Mapping{Attributes: []string{}}), "", "", "")
	wantLines(t, read(table.Mapping{Message: []string{"o.p"}, Operator: []string{"n"}}),
		`{"x":2,"a.b":"c"}`, `column x: the name "x" occurs twice`, `{"late":[]}`)
}

func TestReadingsOfColumns(t *testing.T) {
	m := table.Mapping{
		Device: []string{"=press", "nr"}, Time: []string{"date", "clock"},
		Metrics: []string{"on", "m.*"}, Metadata: []string{"fw"},
	}
	entries, err := open(t, "nr;date;clock;on;m.a;m.b;fw\n"+
		"1;2020-04-24;14:40;true; 1.5 ;-2e3;\"1 \"\"x\"\"\"\n"+
		"2;2020-04-24;;false;;;\n"+
		"3;2020-04-24;;;;;v\n"+
		"4;2020-04-24;;;1;x;\n"+
		"5;2020-04-24;;;1;1e999;\n", table.Options{Comma: ';'}).Readings(m)
	wantLines(t, listed(entries, err, showReading),
		`0:2 press/1 2020-04-24T14:40:00Z {"a":1.5,"b":-2000,"on":1} {"fw":"1 \"x\""}`,
		`1:3 press/2 2020-04-24T00:00:00Z {"on":0} `,
		`line 4: column on,m.*: there is no metric`,
		`line 5: column m.b: "x" is not a number`,
		`line 6: column m.b: "1e999" is not below 1e+126`,
	)
}

func TestMappingRefused(t *testing.T) {
	const header = "device,time,state,temp,message\n"
	const there = "\nThere are device, time, state, temp, message; --"
	for _, c := range []struct {
		change func(*table.Mapping)
		want   string
	}{
		{func(m *table.Mapping) { m.State = []string{} }, `state: there is no column "state"; ` +
			`did you mean state?` + there + `state names the one to take, or --metrics those of ` +
			`readings`},
		{func(m *table.Mapping) { m.State = []string{""} }, `state: the column "" is empty`},
		{func(m *table.Mapping) { m.Device = []string{"devcie"} },
			`device: there is no column "devcie"; did you mean device?` + there +
				`device names the one to take`},
		{func(m *table.Mapping) { m.EscalatedTo = []string{"Liz"} },
			`escalated_to: there is no column "Liz"` + there +
				`escalated-to names the one to take`},
		{func(m *table.Mapping) { m.Attributes = []string{"=x"} },
			`attributes: the column "=x" has no name`},
		{func(m *table.Mapping) { m.Attributes = []string{"*"} },
			`attributes: the column "*" has no name`},
		{func(m *table.Mapping) { m.Message = []string{"data.*"} },
			`message: the column "data.*" is many columns`},
	} {
		m := plain
		c.change(&m)
		_, err := open(t, header, table.Options{}).Events(m)
		if err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

// TestColumnsMayComeLater: of JSON only the first object is known.
func TestColumnsMayComeLater(t *testing.T) {
	m := plain
	m.Message = []string{"note"}
	entries, err := open(t, `{"device":"a","time":"2020-04-24","state":"ON"}
{"device":"b","time":"2020-04-24","state":"ON","note":"x"}`,
		table.Options{Format: table.JSON}).Events(m)
	wantLines(t, listed(entries, err, showEvent), `0:1 a 2020-04-24T00:00:00Z ON op= to= "" `,
		`1:2 b 2020-04-24T00:00:00Z ON op= to= "x" `)
}

// TestUnnamedColumns: optional fields that no column is named for are taken from the columns of
// their names, of JSON also where they come late, and not where another field uses them.
func TestUnnamedColumns(t *testing.T) {
	const late = 120 // after the rows that are read ahead
	csv := "device,time,state,message,operator,attributes\n" +
		`a,2020-04-24,ON,hot,Liz,"{""x"":[1.50],""y.z"":null}"` + "\n" +
		"a,2020-04-25,ON,,,{not JSON\n"
	lines := strings.Repeat(`{"device":"a","time":"2020-04-24","state":"ON"}`+"\n", late) +
		`{"device":"a","time":"2020-04-24","state":"ON","message":"hot","operator":"Liz",` +
		`"attributes":{"x":[1.50],"y.z":null}}`
	m := plain
	used := m
	used.Operator = []string{"message"}
	without := m
	without.Operator, without.Message, without.Attributes = []string{}, []string{}, []string{}
	same := andon.JSON(`{"x":[1.50],"y.z":null}`)
	for _, c := range []struct {
		text    string
		format  table.Format
		mapping table.Mapping
		row     int
		want    andon.Event
	}{
		{csv, table.CSV, m, 0, andon.Event{Operator: "Liz", Message: "hot", Attributes: same}},
		{csv, table.CSV, m, 1, andon.Event{Attributes: `{"attributes":"{not JSON"}`}},
		{csv, table.CSV, used, 0, andon.Event{Operator: "hot", Attributes: same}},
		{csv, table.CSV, without, 0, andon.Event{}},
		{`{"device":"a","time":"2020-04-24","state":"ON","attributes":null,"message":null}`,
			table.JSON, m, 0, andon.Event{}},
		{lines, table.JSON, m, late,
			andon.Event{Operator: "Liz", Message: "hot", Attributes: same}},
	} {
		entries, err := open(t, c.text, table.Options{Format: c.format}).Events(c.mapping)
		if err != nil {
			t.Fatal(err)
		}
		for item, err := range entries {
			if err != nil || item.Bad != nil {
				t.Fatal(err, item.Bad)
			}
			if item.Index != c.row {
				continue
			}
			got := item.Value
			got.Device, got.Time, got.State = "", 0, ""
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		text string
		o    table.Options
		want string
	}{
		{"", table.Options{}, "the file is empty: CSV begins with a header"},
		{"# a\n", table.Options{Comments: true}, "the file is empty: CSV begins with a header"},
		{"a,b,a\n", table.Options{}, `the header has column "a" twice`},
		{"\na,\"b\n", table.Options{}, "the header can't be read: line 2: a quote is not closed"},
		{"a", table.Options{Comma: '"'}, `'"' can't be between cells`},
		{"", table.Options{Format: table.JSON}, "the file is empty"},
		{"{", table.Options{Format: table.JSON},
			"the file ends within entry 0"},
		{"\x1f\x8b", table.Options{}, "the compressed file is cut off: it ends too early"},
	} {
		_, err := opened(strings.NewReader(c.text), c.o)
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

func TestGzipCutShort(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	io.WriteString(w, "device,time,state\na,2020-04-24,ON\n")
	w.Close()
	whole := zipped.Bytes()
	for _, cut := range []int{0, 4} {
		tab, err := opened(bytes.NewReader(whole[:len(whole)-cut]), table.Options{})
		if err != nil {
			t.Fatal(err)
		}
		entries, err := tab.Events(plain)
		lines := listed(entries, err, showEvent)
		says := "the compressed file is cut off: it ends too early"
		if broken := slices.Contains(lines, says); broken != (cut > 0) {
			t.Errorf("cut %d: %q", cut, lines)
		}
	}
}

func TestColumnsAndValues(t *testing.T) {
	tab := open(t, `{"a":{"b":1,"c.d":"x\n"},"e":null}`, table.Options{Format: table.JSON})
	wantLines(t, tab.Columns, "a", "a.b", "a.c.d", "e")
	row, err := tab.Next()
	if err != nil || row.Bad != nil {
		t.Fatal(err, row.Bad)
	}
	text, _ := row.Value("a.c.d")
	_, null := row.Value("e")
	_, missing := row.Value("a.x")
	if text != "x\n" || null || missing {
		t.Errorf("%q %t %t", text, null, missing)
	}
}

// opened is table.New for what table.PlainText makes of a file.
func opened(r io.Reader, o table.Options) (*table.Table, error) {
	plain, err := table.PlainText(r)
	if err != nil {
		return nil, err
	}
	return table.New(plain, o)
}
