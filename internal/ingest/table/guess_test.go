package table_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/table"
)

// TestNotText: a file that is no text is refused by what it is, and nothing of it is shown.
func TestNotText(t *testing.T) {
	for text, want := range map[string]string{
		"\xff\xfea\x00":           "UTF-16: save it as UTF-8",
		"\xfe\xff\x00a":           "UTF-16: save it as UTF-8",
		"d\x00e\x00v\x00\n\x00":   "binary, not text: write its table out as CSV, in UTF-8",
		"PK\x03\x04\x14\x00":      "a zip archive or an .xlsx sheet: ",
		"SQLite format 3\x00\x10": "binary, not text: ",
		zipped(t, "a\x00"):        "binary, not text: ",
		zipped(t, zipped(t, "a")): "compressed twice: ",
		"a,b,c\x00\x01,d":         "binary, not text: ",
	} {
		for _, format := range []table.Format{table.CSV, table.JSON} {
			_, err := opened(strings.NewReader(text), table.Options{Format: format})
			if err == nil || !strings.HasPrefix(err.Error(), "the file is "+want) {
				t.Errorf("%q: got %v, want %s", text, err, want)
			}
			if andon.KindOf(err) != andon.Invalid {
				t.Errorf("%q: the kind of %v", text, err)
			}
		}
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestZstd(t *testing.T) {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	packed := w.EncodeAll([]byte("device,time,state\na,2020-04-24,ON\n"), nil)
	entries, err := open(t, string(packed), table.Options{}).Events(plain)
	wantLines(t, listed(entries, err, showEvent),
		`0:2 a 2020-04-24T00:00:00Z ON op= to= "" `)
	_, err = opened(bytes.NewReader(packed[:len(packed)-3]), table.Options{})
	if err == nil || err.Error() != "the compressed file is cut off: it ends too early" {
		t.Errorf("cut short: %v", err)
	}
}

// TestMissingColumns: the error has the columns that are there, as a terminal can show them, and
// says what else the header may be.
func TestMissingColumns(t *testing.T) {
	for header, want := range map[string]string{
		"devcie,time,state": "device: there is no column \"device\"; did you mean devcie?\n" +
			"There are devcie, time, state; --device names the one to take",
		"mach\x1b2,id": "There are \"mach\\x1b2\", id; --device names the one to take",
		"device,time,oil": "state: there is no column \"state\"\nThere are device, time, oil; " +
			"--state names the one to take, or --metrics those of readings",
		"device;time;state": "There are device;time;state; --delimiter says what is between " +
			"them, --comments skips lines with # before them",
	} {
		_, err := open(t, header+"\n", table.Options{}).Events(table.Mapping{})
		if err == nil || !strings.Contains(err.Error(), want) ||
			andon.KindOf(err) != andon.Invalid {
			t.Errorf("%s: %v", header, err)
		}
	}
}

// TestObjectsInJSON: the format JSON takes objects without an array, too. Where each is a line, one
// that is wrong does not cost the others.
func TestObjectsInJSON(t *testing.T) {
	const row = `{"device":"a","time":"2020-04-24","state":"ON"}`
	const want = `a 2020-04-24T00:00:00Z ON `
	long := strings.Replace(strings.ReplaceAll(row, ",", ",\n"), "{", "{\n", 1)
	for text, places := range map[string][]string{
		row:                              {"0:1 "},
		"\uFEFF" + row + "\n{7}\n" + row: {"0:1 ", "line 2: ", "2:3 "},
		long:                             {"0:0 "},
		"\n \n " + row + "\n" + row:      {"0:3 ", "1:4 "},
		long + "\n" + row + " " + long:   {"0:0 ", "1:0 ", "2:0 "},
		long + "\n7\n" + long:            {"0:0 ", "entry 1: ", "2:0 "},
		long + ",\n" + long:              {"0:0 ", "entry 1: invalid character ','"},
	} {
		entries, err := open(t, text, table.Options{Format: table.JSON}).Events(plain)
		all := listed(entries, err, showEvent)
		if len(all) != len(places) {
			t.Fatalf("%s: %q", text, all)
		}
		for i, place := range places {
			if place[0] >= '0' && place[0] <= '9' {
				place += want
			}
			if !strings.HasPrefix(all[i], place) {
				t.Errorf("%s: got %s, want %s", text, all[i], place)
			}
		}
	}
}

// TestObjectsInCells: an object in a cell of CSV is expanded, as one in JSON is.
func TestObjectsInCells(t *testing.T) {
	const text = "device,time,metrics,metadata\n" +
		`a,2020-04-24,"{""a"":1.50,""b.c"":true,""n"":null}","{""fw"":""1.2"",""m"":[1, 2]}"` +
		"\na,2020-04-25,7,x\nb,2020-04-25,{},{}\nb,2020-04-25,{},\n"
	const lines = `{"device":"a","time":"2020-04-24","metrics":{"a":1.50,"b.c":true,"n":null},` +
		`"metadata":{"fw":"1.2","m":[1, 2]}}` + "\n" +
		`{"device":"b","time":"2020-04-25","metrics":{},"metadata":{}}`
	const none = `b 2020-04-25T00:00:00Z {} {}`
	const want = `a 2020-04-24T00:00:00Z {"a":1.5,"b.c":1} {"fw":"1.2","m":[1, 2]}`
	for _, names := range [][2]string{{"metrics", "metadata"}, {"metrics.*", "metadata.*"}} {
		m := table.Mapping{
			Device: []string{"device"}, Time: []string{"time"},
			Metrics: names[:1], Metadata: names[1:],
		}
		entries, err := open(t, lines, table.Options{Format: table.JSON}).Readings(m)
		wantLines(t, listed(entries, err, showReading), "0:1 "+want, "1:2 "+none)
		entries, err = open(t, text, table.Options{}).Readings(m)
		plainly := `1:3 a 2020-04-25T00:00:00Z {"metrics":7} {"metadata":"x"}`
		if names[0] != "metrics" {
			plainly = `line 3: column metrics.*: there is no metric`
		}
		wantLines(t, listed(entries, err, showReading), "0:2 "+want, plainly, "2:4 "+none,
			"line 5: column "+names[0]+": there is no metric")
	}
}

// TestBreaksInCells: a carriage return is part of a cell, unless all lines end in one.
func TestBreaksInCells(t *testing.T) {
	for end, want := range map[string]string{"\n": `"x\r\ny\n"`, "\r\n": `"x\ny\n"`} {
		m := plain
		m.Message = []string{"message"}
		text := "device,time,state,message" + end + "a,2020-04-24,ON,\"x\r\ny\n\"" + end
		entries, err := open(t, text, table.Options{}).Events(m)
		wantLines(t, listed(entries, err, showEvent),
			"0:2 a 2020-04-24T00:00:00Z ON op= to= "+want+" ")
	}
}

// TestFlatRows: items of the table in the time-series guide are readings, from JSON and from CSV.
func TestFlatRows(t *testing.T) {
	const lines = `{"deviceId":"17","timestamp":"2020-04-24","a":1.50,"metadata":"{\"x\":1}"}
{"deviceId":"18","timestamp":"2020-04-24","b":2,"ttl":9}
{"deviceId":"19","timestamp":"soon","b":2}
`
	const text = "deviceId,timestamp,a,b,metadata,ttl\n" + `17,2020-04-24,1.50,,"{""x"":1}",9` +
		"\n18,2020-04-24,,2,,9\n19,soon,,2,,\n20,2020-04-24,,,,9\n"
	flat := open(t, lines, table.Options{Format: table.JSON})
	if !flat.IsFlat() {
		t.Error("the lines are not flat")
	}
	const soon = `time "soon" is not RFC 3339, such as 2026-11-20T06:00:00Z`
	wantLines(t, listed(flat.FlatReadings(andon.Assumed), nil, showReading),
		`0:1 17 2020-04-24T00:00:00Z {"a":1.5} {"x":1}`,
		`1:2 18 2020-04-24T00:00:00Z {"b":2} `, "line 3: "+soon)
	flat = open(t, text, table.Options{})
	if !flat.IsFlat() {
		t.Error("the rows are not flat")
	}
	wantLines(t, listed(flat.FlatReadings(andon.Assumed), nil, showReading),
		`0:2 17 2020-04-24T00:00:00Z {"a":1.5} {"x":1}`,
		`1:3 18 2020-04-24T00:00:00Z {"b":2} `, "line 4: "+soon, "line 5: there is no metric")
	for _, header := range []string{"deviceId,timestamp,state\n", "deviceId,time,a\n", "a,b\n"} {
		if open(t, header, table.Options{}).IsFlat() {
			t.Errorf("%q is flat", header)
		}
	}
}

// TestMetadataInText: databases without objects have metadata as text, which is not nested again.
func TestMetadataInText(t *testing.T) {
	const line = `{"device":"a","time":"2020-04-24","x":1,"metadata":"{\"fw\":\"1.2\"}"}`
	for _, name := range []string{"metadata", "metadata.*"} {
		m := table.Mapping{Metrics: []string{"x"}, Metadata: []string{name}}
		entries, err := open(t, line, table.Options{Format: table.JSON}).Readings(m)
		wantLines(t, listed(entries, err, showReading),
			`0:1 a 2020-04-24T00:00:00Z {"x":1} {"fw":"1.2"}`)
	}
}
