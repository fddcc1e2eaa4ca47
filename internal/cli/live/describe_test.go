package live

import (
	"testing"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// TestColours: states have their colours on a terminal.
func TestColours(t *testing.T) {
	d := describer{
		Printer: draw.Printer{Colours: true},
		colours: coloursOf([]client.StateCount{{State: "NORMAL", Colour: "#2e7d32"}}),
	}
	was, is := client.Device{State: "NORMAL"}, client.Device{State: "ODD", Since: 1}
	want := "\x1b[48;5;29;38;5;16mNORMAL\x1b[0m → ODD"
	if got := d.change(&was, &is); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
