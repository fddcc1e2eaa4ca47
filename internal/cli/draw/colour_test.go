package draw

import (
	"strings"
	"testing"

	"github.com/andonhq/andon"
)

// TestColoursAreReadable: whatever colour is behind, a state is read on its own at the contrast
// that WCAG wants of text.
func TestColoursAreReadable(t *testing.T) {
	white := rgb{1, 1, 1}
	states := andon.DefaultStates().Defs()
	for _, colour := range []string{"#000000", "#ffffff", "#0000ff", "#ffff00", "#7f7f7f"} {
		states = append(states, andon.StateDef{Colour: colour})
	}
	for _, s := range states {
		c, ok := parseRGB(s.Colour)
		if !ok {
			t.Fatal(s.Colour)
		}
		front := rgb{}
		if !strings.Contains(Printer{Depth: AllColours}.ground(c), "38;2;0;0;0m") {
			front = white
		}
		if got := c.contrast(front); got < 4.5 {
			t.Errorf("%s: text at %.1f:1", s.Colour, got)
		}
	}
}

// TestDepth: colours are those that the terminal declares.
func TestDepth(t *testing.T) {
	p := Printer{Depth: FewColours}
	if got := p.Paint("#b71c1c", "  x "); got != "  \x1b[41;97mx\x1b[0m " {
		t.Errorf("the spaces around a text: %q", got)
	}
	for colour, want := range map[string]string{
		"#2e7d32": "\x1b[42;30m", "#f9a825": "\x1b[43;30m", "#b71c1c": "\x1b[41;97m",
	} {
		if got := p.Paint(colour, "x"); got != want+"x\x1b[0m" {
			t.Errorf("16 colours: %s is %q", colour, got)
		}
	}
	for _, text := range []string{"", "  "} {
		if got := p.Paint("#b71c1c", text); got != text {
			t.Errorf("nothing is painted %q", got)
		}
	}
}

// TestNarrow: the widest column gives way first, a time never.
func TestNarrow(t *testing.T) {
	rows := [][]Cell{
		Texts("DEVICE", "TIME", "MESSAGE"),
		{{Text: "プレス-7 of the hall"}, {Text: "2020-04-24 14:45:00", Whole: true},
			{Text: "stopped: vibration 12.5 mm/s"}},
	}
	Narrow(rows, 60)
	if TableWidth(rows) > 60 || rows[1][1].Text != "2020-04-24 14:45:00" ||
		!strings.HasPrefix(rows[1][2].Text, "stopped: vib") || ColumnsOf(rows[1][0].Text) < 15 {
		t.Errorf("got %v", rows)
	}
	Narrow(rows, 5)
	if ColumnsOf(rows[1][2].Text) != 8 {
		t.Errorf("got %v", rows)
	}
	rows = [][]Cell{Texts("DEVICE", "ESCALATED TO", "MESSAGE"), Texts("B07S01ESCALATOR", "", "hot")}
	if Narrow(rows, 30); rows[1][0].Text != "B07S01ESCALATOR" || TableWidth(rows) > 30 {
		t.Errorf("cut beside an empty column: %v", rows)
	}
}
