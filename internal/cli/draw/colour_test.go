package draw

import (
	"strings"
	"testing"

	"github.com/andonhq/andon"
)

// TestColoursAreReadable: the text on a colour is black or white, whichever has more contrast.
func TestColoursAreReadable(t *testing.T) {
	p := Printer{Colours: true}
	for colour, want := range map[string]string{
		"#000000": "48;5;16;38;5;231", "#ffffff": "48;5;231;38;5;16",
		"#0000ff": "48;5;21;38;5;231", "#ffff00": "48;5;226;38;5;16",
		"#7f7f7f": "48;5;102;38;5;16", "#f9a825": "48;5;214;38;5;16",
		"#b71c1c": "48;5;124;38;5;231", "#2e7d32": "48;5;29;38;5;16",
	} {
		if got := p.Paint(colour, "  x "); got != "  \x1b["+want+"mx\x1b[0m " {
			t.Errorf("%s: %q, want %s", colour, got, want)
		}
	}
	for _, text := range []string{"", "  "} {
		if got := p.Paint("#b71c1c", text); got != text {
			t.Errorf("nothing is painted %q", got)
		}
	}
	for _, d := range andon.DefaultStates().Defs() {
		if got := p.Paint(d.Colour, "x"); !strings.HasPrefix(got, "\x1b[48;5;") {
			t.Errorf("%s is %q", d.Colour, got)
		}
	}
	if got := (Printer{}).Paint("#b71c1c", "x"); got != "x" {
		t.Errorf("without colours: %q", got)
	}
}

// TestNarrow: the widest column is cut first, a time never.
func TestNarrow(t *testing.T) {
	rows := [][]Cell{
		Texts("DEVICE", "TIME", "MESSAGE"),
		{{Text: "プレス-7 of the hall"}, {Text: "2020-04-24 14:45:00", Whole: true},
			{Text: "stopped: vibration 12.5 mm/s"}},
	}
	narrow(rows, 60)
	if tableWidth(rows) > 60 || rows[1][1].Text != "2020-04-24 14:45:00" ||
		!strings.HasPrefix(rows[1][2].Text, "stopped: vib") || ColumnsOf(rows[1][0].Text) < 15 {
		t.Errorf("got %v", rows)
	}
	narrow(rows, 5)
	if ColumnsOf(rows[1][2].Text) != 8 {
		t.Errorf("got %v", rows)
	}
	rows = [][]Cell{Texts("DEVICE", "ESCALATED TO", "MESSAGE"), Texts("B07S01ESCALATOR", "", "hot")}
	if narrow(rows, 30); rows[1][0].Text != "B07S01ESCALATOR" || tableWidth(rows) > 30 {
		t.Errorf("cut next to an empty column: %v", rows)
	}
}
