package live

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/cupwriter"
	"golang.org/x/term"

	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// screen is the terminal while a table is on it. What was there before comes back at the end.
type screen struct {
	out   io.Writer
	size  func() (width, height int)
	depth draw.Depth

	keys    chan draw.Key // what is pressed; nil where there is no keyboard
	end     func()        // ends the command
	restore func()        // gives the keyboard back
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

// newScreen takes the terminal, if standard output is one that can be drawn on; else nil. Keys that
// end the command call end.
func newScreen(p *command.Program, end func()) *screen {
	if !draw.IsTerminal(p.Stdout) || p.Variable("TERM") == "dumb" {
		return nil
	}
	terminal := cupwriter.New(p.Stdout, false)
	s := &screen{out: p.Stdout, depth: p.Depth(), end: end}
	s.size = func() (int, int) { return draw.SizeOf(terminal) }
	s.takeKeys(p.Stdin)
	_, _ = io.WriteString(s.out, enterScreen) // what can't be written shows in draw
	return s
}

// takeKeys reads what is pressed, key by key and without showing it, where standard input is a
// terminal. The reader goes on until the process ends: a read of a terminal can't be interrupted.
func (s *screen) takeKeys(stdin io.Reader) {
	file, ok := stdin.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return
	}
	before, err := term.MakeRaw(int(file.Fd()))
	if err != nil {
		return
	}
	s.restore = func() { _ = term.Restore(int(file.Fd()), before) }
	s.keys = make(chan draw.Key, 1024)
	go s.readKeys(file)
}

// readKeys passes on what is pressed. Ending does not wait for a server that does not answer.
func (s *screen) readKeys(r io.Reader) {
	part := make([]byte, 256)
	typing := false // letters are text, "q" too
	for {
		n, err := r.Read(part)
		if err != nil {
			s.end() // the terminal is gone
			return
		}
		for _, k := range draw.KeysOf(string(part[:n])) {
			switch {
			case k == draw.KeyInterrupt, k == "q" && !typing:
				s.end()
				return
			case k == "/":
				typing = true
			case k == draw.KeyEnter, k == draw.KeyEscape:
				typing = false
			}
			select {
			case s.keys <- k:
			default: // somebody leans on the keyboard
			}
		}
	}
}

// draw puts a board in the place of the last one. The size is asked for each time, so a window that
// changes is right again with the next picture. The last column stays empty: behind a line that
// fills it the cursor stands on its last character, and clearing the rest would take that away.
func (s *screen) draw(b *board) error {
	width, height := s.size()
	b.keys = s.keys != nil
	lines := frame{draw.Page{Depth: s.depth, Styled: true}, b, width - 1, height}.lines()
	text := toTop + strings.Join(lines, clearLine+"\r\n") + clearLine + clearBelow
	if _, err := io.WriteString(s.out, text); err != nil {
		return errUnread
	}
	return nil
}

// pause waits, and does what is pressed meanwhile. It ends early where the board has to ask again.
func (s *screen) pause(ctx context.Context, d time.Duration, b *board, wait pause) error {
	if s.keys == nil {
		return wait(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.C:
			return nil
		case k := <-s.keys:
			b.press(k, s.rows())
			if err := s.draw(b); err != nil {
				return err
			}
			if b.hungry {
				return nil
			}
		}
	}
}

// rows returns how many devices can be seen at most.
func (s *screen) rows() int {
	_, height := s.size()
	return height
}

// close gives the terminal back, once.
func (s *screen) close() {
	s.closed.Do(func() {
		_, _ = io.WriteString(s.out, leaveScreen)
		if s.restore != nil {
			s.restore()
		}
	})
}
