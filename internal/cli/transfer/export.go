package transfer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/ingest/workbench"
)

type export struct {
	*command.Program
	*command.Target
	kind, format *command.Choice
	names        []string // ids of devices, or prefixes that end in '*'
	metrics      []string
	from, to     andon.Time
	file         string            // "" is standard output
	force        bool              // a file that is there is replaced
	model        *workbench.Writer // takes the entries of a model; nil for any other export
}

// Export is "andon export".
func Export(p *command.Program) *cobra.Command {
	e := &export{Program: p}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export the data of a tenant, or its events, readings or records",
		Long: `Export the events of a tenant, or its readings, assignments or escalations: NDJSON,
an entry a line, or CSV, device by device and the oldest first. Retired devices are included, and
those that only ever sent readings, or were assigned and never seen.

--kind all is an archive: all of that in one file, with the tenant's settings, the rules of its
groups, profiles, and when devices were retired. andon import takes it back, into a fresh server or
once more into the same one. It has no documents (policies, schedules, rules on readings, people,
maintenance: andon export config has them), no incidents, and no entries that were withdrawn or have
expired; andon backup has all. If all entries of a device that is shown have expired, the export
says so and the exit code is 1.

Of an entry's escalations --kind events has the newest, as of the entry's own time and without its
note; --kind escalations has all of them. A device or a prefix that is named and never had anything
is reported on standard error; if none has anything, the exit code is 1.

In CSV a cell of attributes, metadata or metrics is a JSON object; with --metrics each metric that
is named has a column of its own. With --output the file gets its name only when it is whole. Events
and readings can be imported again, assignments that hold by andon assign --from; former ones and
escalations only as part of --kind all.

andon export workbench writes a model for NoSQL Workbench.`,
		Example: `  andon export --kind all --output plant.ndjson
  andon export > events.ndjson
  andon export --tenant metro --output events.ndjson
  andon export --device '*' --device retired-press --format csv > events.csv
  andon export --kind readings --device 'press*' --from 2025-12-01 --to 2025-12-31 --format csv`,
	}
	e.flags(cmd, kindEvents, kindReadings, kindAssignments, kindEscalations, kindAll)
	e.format = command.ChoiceFlag(cmd, "format", command.FormatNDJSON,
		"form of the entries; in CSV attributes and metadata are JSON in one cell",
		command.FormatNDJSON, command.FormatCSV)
	p.Does(cmd, func(ctx context.Context, _ []string) error {
		if err := e.check(); err != nil {
			return err
		}
		return e.run(ctx)
	})
	cmd.AddCommand(exportWorkbench(p))
	return cmd
}

// flags adds all flags but that of the format.
func (e *export) flags(cmd *cobra.Command, kinds ...string) {
	flags := cmd.Flags()
	e.Target = e.NewTarget(cmd)
	e.Attempts = command.AttemptsRunning
	e.kind = command.ChoiceFlag(cmd, "kind", kindEvents, "what to export", kinds...)
	flags.StringArrayVar(&e.names, "device", nil,
		"only this `device`, or a prefix: 'press*'; once for each (default all that are listed)")
	e.SpanFlags(cmd, &e.from, &e.to)
	command.MetricsFlag(cmd, &e.metrics)
	flags.StringVarP(&e.file, "output", "o", "", "`file` to write to (default standard output)")
	flags.BoolVar(&e.force, "force", false, "replace the file of --output if it is there already")
}

// check refuses flags that can't be right before anything is requested.
func (e *export) check() error {
	timed := e.from != 0 || e.to != 0
	part := timed || len(e.names) > 0 || len(e.metrics) > 0
	switch {
	case e.kind.Value == kindAll && (part || e.format.Value != command.FormatNDJSON):
		return andon.Errorf(andon.Invalid, "--kind all is the whole archive, as NDJSON: "+
			"it goes with --output alone")
	case e.force && e.file == "":
		return andon.Errorf(andon.Invalid, "--force goes with --output")
	case timed && e.kind.Value == kindAssignments:
		return andon.Errorf(andon.Invalid,
			"assignments are exported whole: without --from and --to")
	case len(e.metrics) > 0 && e.kind.Value != kindReadings:
		return andon.Errorf(andon.Invalid, "--metrics goes with --kind readings")
	}
	for _, text := range e.names {
		if !strings.HasSuffix(text, "*") {
			if err := andon.DeviceID(text).Validate(); err != nil {
				return err
			}
		}
	}
	if len(e.names) == 0 {
		e.names = []string{"*"}
	}
	return e.checkFile()
}

// checkFile refuses to replace what is there.
func (e *export) checkFile() error {
	if e.file == "" {
		return nil
	}
	is, err := os.Stat(e.file)
	switch {
	case err != nil:
		return nil // opening it says what is wrong
	case !is.Mode().IsRegular():
		return andon.Errorf(andon.Invalid, "%s is no regular file: name a file to write", e.file)
	case !e.force:
		return andon.Errorf(andon.Invalid,
			"%s is there already: name another file, or replace it with --force", e.file)
	}
	return nil
}

// run exports to the file, or to standard output. To standard output it says how much was exported
// only on a terminal.
func (e *export) run(ctx context.Context) (err error) {
	begun := time.Now()
	r := exportRun{export: e, counts: counts{}}
	if e.file == "" {
		err = r.copyTo(ctx, e.Stdout)
	} else {
		err = local.WriteFile(e.file, func(w io.Writer) error { return r.copyTo(ctx, w) })
	}
	switch {
	case errors.Is(err, syscall.EPIPE): // the reader has seen enough ("| head")
		return nil
	case err != nil && e.file == "":
		return endedBy(err, r.outcome(), r.devices > 0)
	case err != nil:
		return err
	}
	io.WriteString(e.Stderr, r.note())
	switch {
	case e.file != "":
		_, err = fmt.Fprintf(e, "%s to %s in %.1fs\n",
			r.outcome(), e.file, time.Since(begun).Seconds())
	case draw.IsTerminal(e.Stderr):
		fmt.Fprintln(e.Stderr, r.outcome())
	}
	return errors.Join(err, r.leftOut())
}

func (r *exportRun) copyTo(ctx context.Context, out io.Writer) error {
	w := bufio.NewWriterSize(out, 64<<10)
	err := r.Ask(ctx, func(c *client.Client) error {
		r.Client = c
		return r.exportAll(ctx, w)
	})
	return errors.Join(err, w.Flush())
}
