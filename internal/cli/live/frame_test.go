package live

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/golden"
)

// aBoard is what a fleet of 500 devices might show.
func aBoard(t *testing.T) *board {
	t.Helper()
	now := newClockwork(t).now()
	ago := func(seconds andon.Time) andon.Time { return now - seconds*1_000_000 }
	b := &board{
		title: "Andon demo: a simulated factory, 60 times as fast as the clock", total: 500,
		none: "All devices are normal.", now: now, asked: now, keys: true,
		notes: []string{"98 events/s, 97 readings/s."},
		links: links("http://127.0.0.1:8080"),
	}
	counts := []int{471, 12, 9, 5, 3}
	for i, s := range andon.DefaultStates().Defs() {
		b.states = append(b.states, client.StateCount{
			State: s.Name, Severity: s.Severity, Letter: s.Letter, Colour: s.Colour,
			Symbol: s.Symbol, Count: counts[i],
		})
	}
	b.devices = []client.Device{
		{Device: "paint-10", State: "WARNING4", Severity: 80, Since: ago(212), Operator: "Liz",
			EscalatedTo: "Sara", Message: "stopped: vibration 12.5 mm/s, limit 10.3"},
		{Device: "oven-39", State: "WARNING4", Severity: 80, Since: ago(71), Operator: "Pia",
			Received: ago(95), Silent: true, Message: "stopped: vibration 11.0 mm/s, limit 10.3"},
		{Device: "a\x1b[2Jb", State: "WARNING3", Severity: 64, Since: ago(7200),
			Message: "a message that\x1b]0;title\x07 would steer the terminal"},
		{Device: "press-1", State: "ODD", Severity: 16, Since: ago(1)},
	}
	for i := range 25 {
		b.devices = append(b.devices, client.Device{
			Device: andon.DeviceID(fmt.Sprintf("weld-%02d", i)), State: "WARNING1", Severity: 32,
			Since: ago(andon.Time(5 * i)), Operator: "Sue", Message: "current 19.7 A, limit 19.6",
		})
	}
	return b
}

// TestFrameGolden draws one board on terminals of several sizes.
func TestFrameGolden(t *testing.T) {
	var text strings.Builder
	picture := func(title string, f frame) {
		fmt.Fprintf(&text, "%s\n%s\n\n", title, strings.Join(f.lines(), "\n"))
	}
	for _, size := range [][2]int{{110, 40}, {80, 24}, {54, 40}, {50, 16}, {24, 9}} {
		title := fmt.Sprintf("== %d columns, %d lines", size[0], size[1])
		picture(title, frame{draw.Printer{}, aBoard(t), size[0], size[1]})
	}
	quiet := aBoard(t)
	quiet.devices, quiet.trouble = nil, "connection refused"
	quiet.asked += 65_000_000
	picture("== nothing to see, and no answer", frame{draw.Printer{}, quiet, 80, 24})
	coloured := func(title string, p draw.Printer, b *board, height int) {
		lines := frame{p, b, 80, height}.lines()
		shown := strings.ReplaceAll(strings.Join(lines[:11], "\n"), "\x1b", "^")
		fmt.Fprintf(&text, "== %s\n%s\n\n", title, shown)
	}
	coloured("16 million colours", draw.Printer{Depth: draw.AllColours}, aBoard(t), 24)
	coloured("256 colours", draw.Printer{Depth: draw.SomeColours}, aBoard(t), 32)
	coloured("16 colours", draw.Printer{Depth: draw.FewColours}, aBoard(t), 24)
	old := aBoard(t)
	old.trouble = "connection refused"
	old.asked += 65_000_000
	coloured("no answer, in colour", draw.Printer{Depth: draw.AllColours, Styled: true}, old, 24)
	golden.File(t, "testdata/demo_frame.golden", text.String())
}

// TestAddressesAreWhole: half of an address leads nowhere, so rather none is shown.
func TestAddressesAreWhole(t *testing.T) {
	b := aBoard(t)
	b.links = links("http://127.0.0.1:49152")
	for width := range 130 {
		shown := 0
		for _, line := range (frame{draw.Printer{}, b, width, 60}).lines() {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " ")
			if !strings.HasPrefix(line, "http") {
				continue
			}
			shown++
			isLine := func(l link) bool { return l.url == line }
			if !slices.ContainsFunc(b.links, isLine) {
				t.Errorf("at %d columns there is %s", width, line)
			}
		}
		if width >= 80 && shown != len(b.links) {
			t.Errorf("at %d columns there are %d", width, shown)
		}
	}
	for i, line := range (frame{draw.Printer{}, b, 80, 60}).addresses() {
		if !strings.HasSuffix(line, b.links[i].text) {
			t.Errorf("at 80 columns %s", line)
		}
	}
}

// TestFrameFits: whatever the size, no line is wider and no frame higher.
func TestFrameFits(t *testing.T) {
	many := aBoard(t)
	for i := range 150 {
		many.states = append(many.states, client.StateCount{
			State: andon.State(fmt.Sprintf("S%d", i)), Severity: 200, Count: i % 3, Symbol: "●",
		})
	}
	for _, b := range []*board{aBoard(t), many, {}} {
		for width := 0; width < 130; width += 3 {
			for height := range 45 {
				lines := frame{draw.Printer{}, b, width, height}.lines()
				if len(lines) > height {
					t.Fatalf("%d lines at a height of %d", len(lines), height)
				}
				for _, line := range lines {
					if draw.ColumnsOf(line) > width {
						t.Fatalf("%q is wider than %d", line, width)
					}
					if strings.ContainsAny(line, "\x1b\x07\r\n") {
						t.Fatalf("%q steers the terminal", line)
					}
				}
			}
		}
	}
}

func TestBar(t *testing.T) {
	for want, got := range map[string]string{
		"":      bar(0, 10, 5),
		"▏":     bar(1, 1_000_000, 5),
		"██▌":   bar(1, 2, 5),
		"█▏":    bar(9, 80, 10),
		"█████": bar(7, 7, 5),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := bar(1, 2, -3); got != "" {
		t.Errorf("without room: %q", got)
	}
}

func TestAge(t *testing.T) {
	for want, d := range map[string]andon.Duration{
		"0s": 0, "59s": 59_999_999, "1m00s": 60_000_000, "59m59s": 3_599_000_000,
		"1h00m": 3_600_000_000, "23h59m": 86_399_000_000, "2d03h": 51 * 3_600_000_000,
	} {
		if got := draw.Age(d); got != want {
			t.Errorf("age(%d) is %s, want %s", d, got, want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for want, n := range map[string]int{
		"0": 0, "999": 999, "1,000": 1000, "12,345": 12345, "1,234,567": 1234567, "-123": -123,
		"-1,234": -1234,
	} {
		if got := draw.Grouped(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestHeldComesAfterwards: the log of a server must not be written over the table.
func TestHeldComesAfterwards(t *testing.T) {
	var out bytes.Buffer
	h := &held{to: &out}
	fmt.Fprint(h, "before ")
	h.hold()
	fmt.Fprint(h, "while ")
	if out.String() != "before " {
		t.Errorf("while it is held: %q", out.String())
	}
	h.Write(make([]byte, mostHeld+1)) // is lost
	h.release()
	fmt.Fprint(h, "after")
	if out.String() != "before while after" {
		t.Errorf("afterwards: %q", out.String())
	}
}

// TestScreenDraws: each picture begins at the top, and is as large as the terminal is
// then.
func TestScreenDraws(t *testing.T) {
	var out bytes.Buffer
	width, height := 60, 20
	s := &screen{&draw.Screen{Out: &out, Size: func() (int, int) { return width, height }}}
	for range 2 {
		if err := s.draw(aBoard(t)); err != nil {
			t.Fatal(err)
		}
		width, height = 30, 8
	}
	s.Close()
	const leaveScreen, toTop = "\x1b[?7h\x1b[?25h\x1b[?1049l", "\x1b[H"
	pictures := strings.Split(strings.TrimSuffix(out.String(), leaveScreen), toTop)
	if len(pictures) != 3 || !strings.HasSuffix(out.String(), leaveScreen) {
		t.Fatalf("%q", out.String())
	}
	for i, lines := range []int{20, 8} {
		if n := strings.Count(pictures[i+1], "\r\n") + 1; n > lines {
			t.Errorf("picture %d has %d lines", i, n)
		}
		if !strings.HasSuffix(pictures[i+1], "\x1b[K\x1b[J") {
			t.Errorf("picture %d leaves what was there: %q", i, pictures[i+1])
		}
	}
	s.Out = &closedPipe{}
	if err := s.draw(aBoard(t)); !errors.Is(err, errUnread) {
		t.Errorf("a terminal that is gone: %v", err)
	}
}
