package draw

import (
	"bytes"
	"strings"
	"testing"
)

func TestTableAlignsWhatIsColoured(t *testing.T) {
	var out bytes.Buffer
	Printer{W: &out, Colours: true}.Table([][]Cell{
		{{Text: "● NORMAL", Colour: "#2e7d32"}, {Text: "7", Right: true}},
		{{Text: "x"}, {Text: "12", Right: true}},
	})
	want := "  \x1b[48;5;29;38;5;16m● NORMAL\x1b[0m   7\n  x         12\n"
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

// TestFitted: outside a terminal a long cell is cut, and a line says so.
func TestFitted(t *testing.T) {
	for cell, cut := range map[string]bool{
		strings.Repeat("é", 100): false, strings.Repeat("é", 101): true,
	} {
		var out bytes.Buffer
		Printer{W: &out}.Fitted([][]Cell{Texts("WHAT", "IS"), Texts("engine", cell)})
		if strings.Contains(out.String(), cell) == cut ||
			strings.Contains(out.String(), "--output json") != cut {
			t.Errorf("%d columns: %s", ColumnsOf(cell), out.String())
		}
	}
}
