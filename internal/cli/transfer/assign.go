package transfer

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

const assignBatch = 10_000 // assignments of one request

type assign struct {
	importer // of a file that says who is assigned
	none     bool
	file     string
}

// Assign is "andon assign".
func Assign(p *command.Program) *cobra.Command {
	a := &assign{importer: importer{Program: p, lines: kindAssign, batch: assignBatch}}
	cmd := &cobra.Command{
		Use:   "assign DEVICE (OPERATOR | --none) | assign --from FILE",
		Short: "Assign an operator to a device, or operators to many",
		Long: `Assign an operator to a device from now on, or with --none no one. A device need not
have been seen. An assignment takes effect at the later of now and just after the device's newest
entry.

With --from a file says who is assigned to which device: CSV with a header, JSON or NDJSON, with
the columns device and operator; an operator that is empty or null unassigns. Lines that have a
"to" are over and are skipped, so the output of andon export --kind assignments can be read
here. Wrong lines are reported as FILE:LINE: reason, the others take effect, and the exit code is
3.`,
		Example: `  andon assign press-7 Liz
  andon assign press-7 --none
  andon assign --from shift.csv --tenant metro`,
	}
	flags := cmd.Flags()
	a.Target = p.NewTarget(cmd)
	flags.BoolVar(&a.none, "none", false, "no one")
	a.form = command.SentenceFlag(cmd, command.FormatText)
	flags.StringVar(&a.file, "from", "", "`file` that says who is assigned; - is stdin")
	flags.StringVar(&a.format, "format", "",
		"`form` of the file: csv, json or ndjson (default: by its name)")
	flags.StringVar(&a.rejects, "rejects", "", "`file` to write all rejected lines to")
	cmd.MarkFlagsMutuallyExclusive("from", "none")
	cmd.Args = a.args
	return p.Does(cmd, func(ctx context.Context, args []string) error {
		if a.file != "" {
			a.Attempts = command.AttemptsRunning
			return a.importFiles(ctx, []string{a.file})
		}
		return a.assignOne(ctx, args)
	})
}

// args checks that the arguments are those of one of the forms.
func (a *assign) args(cmd *cobra.Command, args []string) error {
	words := []string{"DEVICE", "OPERATOR"}
	switch {
	case a.file != "":
		words = nil
	case a.none:
		words = words[:1]
	}
	return command.Arguments(words...)(cmd, args)
}

func (a *assign) assignOne(ctx context.Context, args []string) error {
	device, operator := andon.DeviceID(args[0]), andon.PersonID("")
	if !a.none {
		operator = andon.PersonID(args[1])
		if err := operator.ValidateAs("operator"); err != nil { // an empty one would unassign
			return err
		}
	}
	return a.Ask(ctx, func(c *client.Client) error {
		kept, err := c.Assign(ctx, device, operator)
		if err != nil {
			return err
		}
		if _, err := c.Device(ctx, device); command.IsStatus(err, http.StatusNotFound) {
			fmt.Fprintf(a.Stderr, "Note: %s shows nothing now: it never reported, or is retired\n",
				draw.Legible(string(device)))
		}
		to := "to " + draw.Legible(string(kept.Operator))
		if kept.Operator == "" {
			to = "to nobody"
		}
		return a.Report(a.form, kept, "%s is assigned %s from %s on",
			draw.Legible(string(kept.Device)), to, kept.From)
	})
}
