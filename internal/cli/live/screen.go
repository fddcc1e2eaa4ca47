package live

import (
	"context"
	"time"

	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// screen is the terminal while a board is on it.
type screen struct{ *draw.Screen }

// newScreen takes the terminal, if standard output is one that can be drawn on; else nil. Keys that
// end the command call end.
func newScreen(p *command.Program, end func()) *screen {
	if !draw.IsTerminal(p.Stdout) || p.Variable("TERM") == "dumb" {
		return nil
	}
	return &screen{draw.NewScreen(p.Stdin, p.Stdout, p.Depth(), end)}
}

// draw puts a board in the place of the last one. The size is asked for each time, so a window that
// changes is right again with the next picture.
func (s *screen) draw(b *board) error {
	width, height := s.Size()
	b.keys = s.Keys != nil
	out := draw.Printer{Depth: s.Depth, Styled: true}
	if err := s.Show(frame{out, b, width - 1, height}.lines()); err != nil {
		return errUnread
	}
	return nil
}

// pause waits, and does what is pressed and takes in what is told meanwhile. It ends early where
// the board has to ask again.
func (s *screen) pause(ctx context.Context, d time.Duration, b *board, wait pause) error {
	if s.Keys == nil {
		if err := wait(ctx, d); err != nil {
			return err
		}
		return b.catchUp(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.C:
			return nil
		case k := <-s.Keys:
			b.press(k, s.rows())
			if err := s.draw(b); err != nil {
				return err
			}
			if b.hungry {
				return nil
			}
		case told, ok := <-b.news.channel():
			if !ok {
				return b.news.ended(ctx)
			}
			if b.hear(told) {
				t.Reset(min(d, newsBeat))
			}
		}
	}
}

// rows returns how many devices can be seen at most.
func (s *screen) rows() int {
	_, height := s.Size()
	return height
}
