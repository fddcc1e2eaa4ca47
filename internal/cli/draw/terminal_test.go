package draw

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTableAlignsWhatIsColoured(t *testing.T) {
	var out bytes.Buffer
	Printer{W: &out, Depth: AllColours}.Table([][]Cell{
		{{Text: "● NORMAL", Colour: "#2e7d32"}, {Text: "7", Right: true}},
		{{Text: "x"}, {Text: "12", Right: true}},
	})
	want := "  \x1b[48;2;46;125;50;38;2;255;255;255m● NORMAL\x1b[0m   7\n  x         12\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestLegible: a message can't move the cursor, colour the terminal or turn the direction of text.
func TestLegible(t *testing.T) {
	for text, want := range map[string]string{
		"plain Zoë 🏭":              "plain Zoë 🏭",
		"\x1b[31mred\r\nnext\ttab": " [31mred  next tab",
		"\u009b31m":                " 31m",
		"a\u202eb\u2066c":          "a\ufffdb\ufffdc",
		strings.Repeat("é", 61):    strings.Repeat("é", 61),
	} {
		if got := Legible(text); got != want {
			t.Errorf("legible(%q) is %q, want %q", text, got, want)
		}
	}
}

// TestFit: what is too wide loses its source first, and then the end of its longest column.
func TestFit(t *testing.T) {
	rows := [][]Cell{Texts("WHAT", "IS", "FROM"), Texts("engine", "as long as this", "the store")}
	for width, want := range map[int][][]Cell{
		36: rows,
		35: {Texts("WHAT", "IS"), Texts("engine", "as long as this")},
		20: {Texts("WHAT", "IS"), Texts("engine", "as long a…")},
		3:  {Texts("WHAT", "…"), Texts("engine", "…")},
	} {
		got, whole := fit(rows, width)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Cell{})); diff != "" {
			t.Errorf("%d columns: %s", width, diff)
		}
		if whole != (width == 36) {
			t.Errorf("%d columns: whole is %t", width, whole)
		}
	}
}
