// Package command is shared by all commands: the process around them, requests to a server,
// arguments and flags, and the output.
package command

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Program is the process that runs a command, as tests can replace it.
type Program struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // "NAME=value"
	Version        client.Version
	Now            func() andon.Time
	Started        bool  // the arguments were valid
	Unwritten      error // why something is not on standard output that Write was given
}

// Write writes on standard output. What prints for people looks at no error: this keeps it.
func (p *Program) Write(text []byte) (int, error) {
	n, err := p.Stdout.Write(text)
	if err != nil {
		p.Unwritten = err
	}
	return n, err
}

// Does makes a function the work of a command, and returns the command. Errors of work are not
// misuse of the command line, unless their kind is Invalid.
func (p *Program) Does(
	cmd *cobra.Command, work func(ctx context.Context, args []string) error,
) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p.Started = true
		return work(cmd.Context(), args)
	}
	return cmd
}

// Variable returns the value of an environment variable, "" if it is not set.
func (p *Program) Variable(name string) string {
	value := ""
	for _, entry := range p.Environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// PrintJSON prints a value as indented JSON.
func (p *Program) PrintJSON(value any) error {
	encoder := json.NewEncoder(p.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// UntilHangup returns a context that also ends on SIGHUP, unless the process ignores it (nohup).
func UntilHangup(ctx context.Context) (context.Context, func()) {
	if signal.Ignored(syscall.SIGHUP) {
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// UnlessInterrupted returns err, or ErrInterrupted if the context ended.
func UnlessInterrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ErrInterrupted
	}
	return err
}

// Printer prints on standard output, with colours if it is a terminal and NO_COLOR is not set
// (https://no-color.org).
func (p *Program) Printer() draw.Printer {
	plain, width := p.Variable("NO_COLOR") != "" || p.Variable("TERM") == "dumb",
		draw.WidthOf(p.Stdout)
	return draw.Printer{W: p, Colours: !plain && width > 0, Width: width}
}

// VersionLine returns "andon v1.2.3 (1a2b3c4, 2025-12-04T12:00:00Z, go1.26.8)".
func VersionLine(v client.Version) string {
	line := "andon " + v.Version + " ("
	if v.Revision != "" {
		line += v.Revision[:min(len(v.Revision), 12)] + ", " + v.Time + ", "
	}
	return line + v.Go + ")"
}

// Confirm asks the user to confirm what can't be undone by typing a name.
func (p *Program) Confirm(ctx context.Context, name, what string) error {
	in, ok := p.Stdin.(io.Writer)
	if !ok || !draw.IsTerminal(in) {
		return andon.Errorf(andon.Invalid,
			"%s\nThat can't be undone, and there is no terminal to ask at: say --yes", what)
	}
	fmt.Fprintf(p.Stderr, "%s\nType its name to confirm: ", what)
	answer, err := p.readLine(ctx)
	if err != nil {
		fmt.Fprintln(p.Stderr)
		return err
	}
	if answer != name {
		return fmt.Errorf("%q is not its name: nothing was deleted", draw.Legible(answer))
	}
	return nil
}

// readLine reads a line of standard input, or returns when the context ends. A read from a terminal
// can't be interrupted: its goroutine ends with the program.
func (p *Program) readLine(ctx context.Context) (string, error) {
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
