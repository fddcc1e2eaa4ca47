package table_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/table"
)

// TestNotText: a file that is no text is refused by what it is, and nothing of it is shown.
func TestNotText(t *testing.T) {
	tar := "log.csv" + strings.Repeat("\x00", 250) + "ustar\x0000"
	for text, want := range map[string]string{
		"\xff\xfea\x00":           "UTF-16: save it as UTF-8",
		"\xfe\xff\x00a":           "UTF-16: save it as UTF-8",
		"d\x00e\x00v\x00\n\x00":   "UTF-16 without a byte order mark: save it as UTF-8",
		"PK\x03\x04\x14\x00":      "a zip archive or an .xlsx sheet: ",
		"PAR1\x15\x04":            "a Parquet file: write its table out as CSV",
		"SQLite format 3\x00\x10": "an SQLite database: ",
		"BZh91AY&SY":              "compressed with bzip2: unpack it with bzip2 -d",
		"\xfd7zXZ\x00":            "compressed with xz: unpack it with xz -d",
		tar:                       "a tar archive: ",
		zipped(t, tar):            "a tar archive: ",
		zipped(t, zipped(t, "a")): "compressed twice: ",
		"<html><body>":            "a web page, ",
		"a,b,c\x00\x01,d":         "binary, not text",
	} {
		for _, format := range []table.Format{table.CSV, table.JSON, table.NDJSON} {
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

// TestOtherComma: where the columns are missing since the header is split at the wrong character,
// the error has the right one.
func TestOtherComma(t *testing.T) {
	for _, c := range []struct {
		header      string
		comma, want rune // 0: it is not that
	}{
		{"device;time;state", 0, ';'},
		{`"device";"time";"state"`, 0, ';'},
		{"device\ttime\tstate", 0, '\t'},
		{"device|time|state", ';', '|'},
		{"device,time,state", ';', ','},
		{"unit,time,state;x", 0, 0},
		{`"device`, 0, 0},
	} {
		tab, err := opened(strings.NewReader(c.header+"\n"), table.Options{Comma: c.comma})
		if err == nil {
			_, err = tab.Events(plain)
		}
		var other *table.CommaError
		if errors.As(err, &other); err == nil || other == nil != (c.want == 0) {
			t.Errorf("%s: %v", c.header, err)
		}
		if other != nil && (other.Comma != c.want || andon.KindOf(err) != andon.Invalid) {
			t.Errorf("%s: %v", c.header, err)
		}
	}
	_, err := opened(strings.NewReader("{\"device\":1\n"), table.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "the file looks like JSON, not like CSV: ") {
		t.Errorf("got %v", err)
	}
	_, err = open(t, "dev\x1bice,time\n", table.Options{}).Events(plain)
	if want := `there are "dev\x1bice", time`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

// TestPrecision: numbers show their unit by their digits, most of them for all.
func TestPrecision(t *testing.T) {
	for text, want := range map[string]string{
		"1577836800\n1577836800.5\n2020-01-01\n": "s",
		"1577836800000\n":                        "ms",
		"1577836800000000\n":                     "us",
		"1577836800000000000\n":                  "ns",
		"1577836800\n2020-01-01\n":               "",
		"1.5e9\n":                                "",
		"86400001\n":                             "",
		"":                                       "",
	} {
		m := plain
		m.Device, m.State = []string{"=a"}, []string{"=ON"}
		tab := open(t, "time\n"+text, table.Options{})
		entries, err := tab.Events(m)
		if err != nil {
			t.Fatal(err)
		}
		for range entries { // until all are read
			continue
		}
		got, ok := tab.Precision()
		if unit, err := andon.ParsePrecision(want); ok != (want != "") || ok && got != unit {
			t.Errorf("%q: got %v, %t, want %s (%v)", text, got, ok, want, err)
		}
	}
}

// TestObjectsInJSON: the format JSON takes objects without an array, too. Where each is a line, one
// that is wrong does not cost the others.
func TestObjectsInJSON(t *testing.T) {
	const row = `{"device":"a","time":"2020-04-24","state":"ON"}`
	const want = `a 2020-04-24T00:00:00Z ON `
	long := strings.ReplaceAll(row, ",", ",\n")
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
		"\na,2020-04-25,7,x\n"
	const lines = `{"device":"a","time":"2020-04-24","metrics":{"a":1.50,"b.c":true,"n":null},` +
		`"metadata":{"fw":"1.2","m":[1, 2]}}`
	const want = `a 2020-04-24T00:00:00Z {"a":1.5,"b.c":1} {"fw":"1.2","m":[1, 2]}`
	for _, names := range [][2]string{{"metrics", "metadata"}, {"metrics.*", "metadata.*"}} {
		m := table.Mapping{
			Device: []string{"device"}, Time: []string{"time"},
			Metrics: names[:1], Metadata: names[1:],
		}
		entries, err := open(t, lines, table.Options{Format: table.NDJSON}).Readings(m)
		wantLines(t, listed(entries, err, showReading), "0:1 "+want)
		entries, err = open(t, text, table.Options{}).Readings(m)
		plainly := `1:3 a 2020-04-25T00:00:00Z {"metrics":7} {"metadata":"x"}`
		if names[0] != "metrics" {
			plainly = `line 3: column metrics.*: there is no metric`
		}
		wantLines(t, listed(entries, err, showReading), "0:2 "+want, plainly)
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
