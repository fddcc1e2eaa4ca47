// Package live has the commands that follow a fleet as it changes: "watch", and "demo", which
// starts a server and simulates a fleet. Both print lines; the picture of a fleet is the board.
package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// watch prints the changes of the devices that its flags select.
type watch struct {
	*command.Program
	*command.Target
	query     client.DeviceQuery
	length    time.Duration // 0: until the user ends it
	incidents bool          // also what becomes of them

	client  *client.Client
	devices map[andon.DeviceID]*client.Device // as they were last; nil before the first list
	stale   bool                              // the devices have to be listed again
	unheard bool                              // those that are silent have to be listed again
	changed int
	failing bool // the server did not answer last time
}

// Watch is "andon watch".
func Watch(p *command.Program) *cobra.Command {
	w := &watch{Program: p}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Print a line for each change of a fleet",
		Long: `Print a line for each change of the fleet of a running server.

A line is printed when a device changes its state, its operator or to whom it is escalated, and when
it falls silent or is heard again. It has all that the device shows then, and the state before. The
first lines say which devices are not normal at the start. Flags select devices; grep selects lines
by any text. With --incidents there is a line, too, when something happens to an incident: it opens,
somebody acknowledges it or writes about it, its policy goes on, it is closed. What happens to
incidents while the server does not answer is not printed.

It follows the stream of the server, as the board does: each change is printed at once, and none is
missed, also across a restart of the server. When the server does not answer, it keeps trying.`,
		Example: `  andon watch
  andon watch --url https://andon:8443 --token-file token --tenant metro --state 'WARNING*'
  andon watch --incidents --group plant-1
  andon watch --operator Liz --for 8h >> shift.log`,
	}
	w.Target = p.NewTarget(cmd)
	cmd.Flags().StringVar(&w.query.State, "state", "", command.StateHelp)
	command.DeviceFlags(cmd, &w.query)
	cmd.Flags().BoolVar(&w.incidents, "incidents", false, "also what happens to incidents")
	cmd.Flags().DurationVar(&w.length, "for", 0, "end after this time (default: at Ctrl-C)")
	return p.Does(cmd, func(ctx context.Context, _ []string) error { return w.run(ctx) })
}

func (w *watch) run(ctx context.Context) error {
	if w.length < 0 {
		return andon.Errorf(andon.Invalid, "--for %s is negative", w.length)
	}
	ctx, stop := command.UntilHangup(ctx)
	defer stop()
	if w.length > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, w.length)
		defer end()
	}
	if draw.IsTerminal(w.Stderr) {
		fmt.Fprintln(w.Stderr, "Ctrl-C ends it.")
	}
	begun := w.Now()
	w.Attempts = 1 // the command tries again by itself
	return w.Ask(ctx, func(c *client.Client) error {
		w.client = c
		if err := unlessEnded(ctx, w.follow(ctx)); err != nil {
			return err
		}
		w.Printer().Line("Watched for %s: %s.", draw.Age(w.Now().Sub(begun)),
			draw.Count(w.changed, "change"))
		return nil
	})
}

// errClosed means that nobody reads the output any more: "| head".
var errClosed = errors.New("standard output is closed")

// printLine prints a line. It fails with errClosed once nobody reads the output.
func printLine(w io.Writer, format string, args ...any) error {
	if _, err := fmt.Fprintf(w, format+"\n", args...); err != nil {
		return errClosed
	}
	return nil
}

// unlessEnded returns an error, or nil if the error means only that the user ended the command or
// stopped reading its output.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, errClosed) {
		return nil
	}
	return err
}
