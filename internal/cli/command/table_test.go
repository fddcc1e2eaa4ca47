package command

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/draw"
)

func TestStatesAreColoured(t *testing.T) {
	var out bytes.Buffer
	w := draw.Printer{W: &out, Colours: true}
	set := andon.DefaultStates()
	w.Table(
		[][]draw.Cell{{Looks{States: set}.state("WARNING4")}, {Looks{States: set}.state("OFF")}})
	want := "  \x1b[48;5;124;38;5;231m✖ WARNING4\x1b[0m\n" +
		"  \x1b[48;5;60;38;5;231m○ OFF\x1b[0m\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOnlyTerminalsCut: a long text is cut where a person looks at a table, so that the columns
// after it are seen, but never on its way into a file or a pipe.
func TestOnlyTerminalsCut(t *testing.T) {
	long := strings.Repeat("é", 100)
	columns := Fields[andon.Event]("message", "device")
	for width, want := range map[int]string{
		0: "  " + long + "  d\n", 80: "  " + strings.Repeat("é", 69) + "…  d\n",
	} {
		var out bytes.Buffer
		w := bufio.NewWriter(&out)
		s := NewSink(FormatTable, w, columns, draw.Printer{W: w, Width: width}, Looks{})
		err := errors.Join(s.Put(&andon.Event{Message: long, Device: "d"}), s.End())
		if err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(out.String(), "\n"); got != want {
			t.Errorf("width %d: %s", width, got)
		}
	}
}

// TestCSVHasNoFormula: no text is run by a spreadsheet, and numbers are numbers.
func TestCSVHasNoFormula(t *testing.T) {
	var out bytes.Buffer
	s := NewSink(FormatCSV, &out, ReadingColumns([]andon.MetricName{"a"}), draw.Printer{}, Looks{})
	r := andon.Reading{Device: "=1+1", Metrics: andon.Metrics{{Name: "a", Value: -1.5}}}
	if err := errors.Join(s.Put(&r), s.End()); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "device,time,a,metadata\n'=1+1,,-1.5,\n"; got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
}

func TestShellWord(t *testing.T) {
	for name, want := range map[string]string{
		"metro": "metro", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'",
	} {
		if got := ShellWord(name); got != want {
			t.Errorf("shellWord(%q) is %s, want %s", name, got, want)
		}
	}
}
