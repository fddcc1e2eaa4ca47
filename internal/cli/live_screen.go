package cli

import (
	"io"
	"strings"

	"github.com/vbauerster/cupwriter"
)

// screen is the terminal while a table is on it. What was there before comes back at the end.
type screen struct {
	out    io.Writer
	size   func() (width, height int)
	colour bool
}

// What a terminal understands, as ECMA-48 and xterm have it.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l" // another screen, no cursor, no wrapping
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// newScreen takes the terminal, if standard output is one that can be drawn on; else nil.
func (p *program) newScreen() *screen {
	if !isTerminal(p.stdout) || p.variable("TERM") == "dumb" {
		return nil
	}
	terminal := cupwriter.New(p.stdout, false)
	s := &screen{out: p.stdout, colour: p.newPage().colour}
	s.size = func() (int, int) { return sizeOf(terminal) }
	_, _ = io.WriteString(s.out, enterScreen) // what can't be written shows in draw
	return s
}

// sizeOf returns the columns and rows of a terminal.
func sizeOf(terminal *cupwriter.Writer) (width, height int) {
	width, height, err := terminal.GetTermSize()
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24 // as it has been since the VT100
	}
	return width, height
}

// draw puts a board in the place of the last one. The size is asked for each time, so a window that
// changes is right again with the next picture. The last column stays empty: behind a line that
// fills it the cursor stands on its last character, and clearing the rest would take that away.
func (s *screen) draw(b *board) error {
	width, height := s.size()
	lines := frame{page{colour: s.colour}, b, width - 1, height}.lines()
	text := toTop + strings.Join(lines, clearLine+"\r\n") + clearLine + clearBelow
	if _, err := io.WriteString(s.out, text); err != nil {
		return errUnread
	}
	return nil
}

// rows returns how many devices can be seen at most.
func (s *screen) rows() int {
	_, height := s.size()
	return height
}

// close gives the terminal back.
func (s *screen) close() { _, _ = io.WriteString(s.out, leaveScreen) }
