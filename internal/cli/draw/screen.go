package draw

import (
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Screen is the terminal while a picture is on it. What was there before comes back at the end.
type Screen struct {
	Out   io.Writer
	Size  func() (width, height int)
	Depth Depth
	Keys  chan Key // what is pressed; nil where there is no keyboard

	end     func() // ends the command
	restore func() // gives the keyboard back
	closed  sync.Once
}

// What a terminal understands, as ECMA-48 and xterm have it.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l" // another screen, no cursor, no wrapping
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// NewScreen takes the terminal that out is. Keys that end the command call end.
func NewScreen(in io.Reader, out io.Writer, depth Depth, end func()) *Screen {
	s := &Screen{Out: out, Depth: depth, end: end, Size: func() (int, int) { return SizeOf(out) }}
	s.takeKeys(in)
	_, _ = io.WriteString(out, enterScreen) // what can't be written shows in Show
	return s
}

// takeKeys reads what is pressed, key by key and without showing it, where standard input is a
// terminal. The reader goes on until the process ends: a read of a terminal can't be interrupted.
func (s *Screen) takeKeys(stdin io.Reader) {
	file, ok := stdin.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return
	}
	before, err := term.MakeRaw(int(file.Fd()))
	if err != nil {
		return
	}
	s.restore = func() { _ = term.Restore(int(file.Fd()), before) }
	s.Keys = make(chan Key, 1024)
	go s.readKeys(file)
}

// readKeys passes on what is pressed. Ending does not wait for a server that does not answer.
func (s *Screen) readKeys(r io.Reader) {
	part := make([]byte, 256)
	typing := false // letters are text, "q" too
	for {
		n, err := r.Read(part)
		if err != nil {
			s.end() // the terminal is gone
			return
		}
		for _, k := range KeysOf(string(part[:n])) {
			switch {
			case k == KeyInterrupt, k == "q" && !typing:
				s.end()
				return
			case k == "/":
				typing = true
			case k == KeyEnter, k == KeyEscape:
				typing = false
			}
			select {
			case s.Keys <- k:
			default: // somebody leans on the keyboard
			}
		}
	}
}

// Show puts lines in the place of the last ones. The last column is to stay empty: behind a line
// that fills it the cursor stands on its last character, and clearing the rest would take that
// away.
func (s *Screen) Show(lines []string) error {
	text := toTop + strings.Join(lines, clearLine+"\r\n") + clearLine + clearBelow
	_, err := io.WriteString(s.Out, text)
	return err
}

// Close gives the terminal back, once.
func (s *Screen) Close() {
	s.closed.Do(func() {
		_, _ = io.WriteString(s.Out, leaveScreen)
		if s.restore != nil {
			s.restore()
		}
	})
}
