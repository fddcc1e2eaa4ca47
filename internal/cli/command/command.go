// Package command is shared by all commands: the process around them, requests to a server,
// arguments and flags, and the output.
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

// Program is the process that runs a command, as tests can replace it.
type Program struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // "NAME=value"
	Version        client.Version
	Now            func() andon.Time
	Started        bool // the arguments were valid
}

// Does returns a function for the RunE of a command. Errors of work are not misuse of the command
// line, unless their kind is Invalid.
func (p *Program) Does(
	work func(ctx context.Context, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		p.Started = true
		return work(cmd.Context(), args)
	}
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
	return draw.Printer{W: p.Stdout, Colours: !plain && width > 0, Width: width}
}

// VersionLine returns "andon v1.2.3 (1a2b3c4, 2025-12-04T12:00:00Z, go1.26.8)".
func VersionLine(v client.Version) string {
	line := "andon " + v.Version + " ("
	if v.Revision != "" {
		line += v.Revision[:min(len(v.Revision), 12)] + ", " + v.Time + ", "
	}
	return line + v.Go + ")"
}
