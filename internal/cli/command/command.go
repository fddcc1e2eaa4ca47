// Package command is what all commands share: the process around them, the server that they ask,
// their arguments and flags, and the form of their answers.
package command

import (
	"context"
	"encoding/json"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Program is one run of the command line.
type Program struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // "NAME=value"
	Version        client.Version
	Now            func() andon.Time
	Started        bool // the arguments were understood
}

// Does makes a function the work of a command. From here on, errors are not misuse of the command
// line unless they say so.
func (p *Program) Does(
	work func(ctx context.Context, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		p.Started = true
		return work(cmd.Context(), args)
	}
}

// Variable returns the value of a variable of the environment, "" where it is not set.
func (p *Program) Variable(name string) string {
	value := ""
	for _, entry := range p.Environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// Depth tells by the environment how many colours standard output shows. NO_COLOR, as
// https://no-color.org has it, takes them away; so does output that is not a terminal.
func (p *Program) Depth() draw.Depth {
	term := p.Variable("TERM")
	declared := p.Variable("COLORTERM")
	switch {
	case p.Variable("NO_COLOR") != "", term == "dumb", !draw.IsTerminal(p.Stdout):
		return draw.NoColours
	case declared == "truecolor", declared == "24bit", strings.HasSuffix(term, "-direct"):
		return draw.AllColours
	}
	return draw.FewColours
}

// PrintJSON prints a value for programs, and for people who look at what programs get.
func (p *Program) PrintJSON(value any) error {
	encoder := json.NewEncoder(p.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// UntilHangup returns a context that ends when the terminal goes away, too. Who asked that to be
// ignored (nohup) still has it so.
func UntilHangup(ctx context.Context) (context.Context, func()) {
	if signal.Ignored(syscall.SIGHUP) {
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// UnlessInterrupted returns an error, or that somebody ended the command, where that is why.
func UnlessInterrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ErrInterrupted
	}
	return err
}

// Printer prints for a person on standard output.
func (p *Program) Printer() draw.Printer { return draw.Printer{W: p.Stdout, Depth: p.Depth()} }
