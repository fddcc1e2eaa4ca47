package command

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Confirm asks the user to confirm what can't be undone by typing a name.
func (p *Program) Confirm(ctx context.Context, name, what string) error {
	in, ok := p.Stdin.(io.Writer)
	if !ok || !draw.IsTerminal(in) {
		return andon.Errorf(andon.Invalid,
			"%s\nThat can't be undone, and there is no terminal to ask at: say --yes", what)
	}
	fmt.Fprintf(p.Stderr, "%s\nType its name to confirm: ", what)
	answer, err := p.ReadLine(ctx)
	if err != nil {
		fmt.Fprintln(p.Stderr)
		return err
	}
	if answer != name {
		return fmt.Errorf("%q is not its name: nothing was deleted", draw.Legible(answer))
	}
	return nil
}

// ReadLine reads a line of standard input, or returns when the context ends. A read from a terminal
// can't be interrupted: its goroutine ends with the program.
func (p *Program) ReadLine(ctx context.Context) (string, error) {
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(p.Stdin).ReadString('\n')
		lines <- line{strings.TrimRight(text, "\r\n"), err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case l := <-lines:
		if l.err == io.EOF {
			return l.text, nil
		}
		return l.text, l.err
	}
}
