package table_test

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/andonhq/andon/internal/ingest/table"
)

// FuzzCSV compares with encoding/csv: a file that it reads whole, we read the same, but for
// carriage returns before the line breaks of a cell, which it always drops.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{
		"a,b\n1,2\n", "a,b\r\n\r\n\"1\",\"2\r\n3\"\"\"\r\n", "a\n\"x", "a,b\n1\n",
		"a,b\n1,2\"\n3,4\n", "a,b\n\"1\"x,2\n", "a\n\"\"\n\"",
		"\uFEFFa\nb", "a,b,\n,,\n", "a\r\rb\n\r", "a,b\n1,\"2\r\n3\"\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, bad, ok := readAll(t, text, table.CSV)
		want, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\uFEFF"))).ReadAll()
		if !ok || err != nil || !utf8.ValidString(text) || strings.HasPrefix(text, "\x1f\x8b") {
			return
		}
		if bad > 0 || len(rows) != len(want)-1 {
			t.Fatalf("%d rows and %d bad ones, want %d", len(rows), bad, len(want)-1)
		}
		for i, row := range rows {
			for j, name := range want[0] {
				if name = strings.TrimSpace(name); name == "" {
					continue
				}
				if got, _ := row.Value(name); breaks(got) != breaks(want[i+1][j]) {
					t.Fatalf("row %d, column %q: %q, want %q", i, name, got, want[i+1][j])
				}
			}
		}
	})
}

// breaks drops the carriage returns before line breaks.
func breaks(text string) string {
	for strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	return text
}

// FuzzObjects compares the values of the rows of an array with encoding/json.
func FuzzObjects(f *testing.F) {
	for _, text := range []string{
		`[{"a":1,"b":{"c":"x\n"}}]`, `[]`, `[{}`, `[{"a":"\ud83d\ude00"},7]`, `[{"a":null}] x`, `{`,
		`[{"a.b":1,"a":{"b":2}}]`, `[{"a":1,"a":2}]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, bad, ok := readAll(t, text, table.JSON)
		var want []map[string]json.RawMessage
		if !ok || json.Unmarshal([]byte(text), &want) != nil || bad > 0 {
			return
		}
		if len(rows) != len(want) {
			t.Fatalf("%d rows, want %d", len(rows), len(want))
		}
		for i, row := range rows {
			for name, raw := range want[i] {
				var want string
				if json.Unmarshal(raw, &want) != nil {
					want = string(raw)
				}
				if got, ok := row.Value(name); got != want || ok == (string(raw) == "null") {
					t.Fatalf("row %d, column %q: %q, want %q", i, name, got, want)
				}
			}
		}
	})
}

// readAll reads a table to its end and checks that the rows are counted without a gap. ok is false
// where it could not be opened or read to its end.
func readAll(t *testing.T, text string, format table.Format) (rows []table.Row, bad int, ok bool) {
	tab, err := opened(strings.NewReader(text), table.Options{Format: format})
	if err != nil {
		return nil, 0, false
	}
	line := 0
	for {
		row, err := tab.Next()
		if err != nil {
			return rows, bad, err == io.EOF
		}
		if row.Index != len(rows)+bad || format == table.CSV && row.Line <= line {
			t.Fatalf("row %d at line %d comes after %d rows and line %d",
				row.Index, row.Line, len(rows)+bad, line)
		}
		line = row.Line
		if row.Bad != nil {
			bad++
			continue
		}
		rows = append(rows, row)
	}
}

// TestRowsOutliveTheNext: a row has memory of its own.
func TestRowsOutliveTheNext(t *testing.T) {
	rows, _, _ := readAll(t, "a,b\n1,2\n3,4\n", table.CSV)
	var got []string
	for _, row := range rows {
		value, _ := row.Value("b")
		got = append(got, value)
	}
	if !slices.Equal(got, []string{"2", "4"}) {
		t.Errorf("got %q", got)
	}
}
