package transfer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// The kinds of what can be exported.
const (
	kindEvents      = "events"
	kindReadings    = "readings"
	kindAssignments = "assignments"
	kindEscalations = "escalations"
	kindAll         = "all"
)

type export struct {
	*command.Program
	command.Target
	kind, format *command.Choice
	devices      []string // ids, or prefixes that end in '*'
	metrics      []string
	from, to     andon.Time
	file         string // "" is standard output
	goOn         bool
	force        bool // a file that is there is replaced
}

// Export is "andon export".
func Export(p *command.Program) *cobra.Command {
	e := &export{Program: p, Target: p.NewTarget()}
	e.Attempts = command.AttemptsRunning
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export all that a tenant has, or its events, readings, assignments, escalations",
		Long: `Export the events of a tenant, or its readings, assignments or escalations: NDJSON,
an entry a line, or CSV, device by device and the oldest first. Retired devices are among them, and
those that only ever sent readings, or were assigned and never seen.

--kind all is all of that in one file, with the tenant's settings and when devices were retired;
andon import takes it back, into a fresh server or once more into the same one. What has expired is
not in it. If what a device shows is left out for that reason, that is told and the exit code is 1.

Of an entry's escalations --kind events has the one that counts, as of the entry's own time and
without its note; --kind escalations has all of them. A device or a prefix that is named and has
nothing, ever, is told on standard error; if none has anything, the exit code is 1.

In CSV a cell of attributes, metadata or metrics is a JSON object; with --metrics each metric that
is named has a column of its own. On a terminal standard error is told how much it was, too.

With --file the file appears under its name only when it is whole; until then it is FILE.part. A
file that is there already is replaced only with --force. An export that was interrupted starts
again, or with --continue goes on after the last device that was whole; what was written of others
since then is not in it.

What is exported can be imported again, CSV as well:
  andon import events.ndjson
  andon import readings.ndjson --metrics 'metrics.*' --metadata 'metadata.*'
  andon assign --from assignments.ndjson

andon export workbench writes a model for NoSQL Workbench.`,
		Example: `  andon export --kind all --file plant.ndjson
  andon export > events.ndjson
  andon export --tenant metro --file events.ndjson
  andon export --device '*' --device retired-press --output csv > events.csv
  andon export --kind readings --device 'press*' --from 2025-12-01 --to 2025-12-31 --output csv`,
		Args: cobra.NoArgs,
	}
	e.flags(cmd)
	cmd.RunE = p.Does(func(ctx context.Context, _ []string) error {
		if err := e.check(); err != nil {
			return err
		}
		if e.kind.Value == kindAll {
			return e.archive(ctx)
		}
		if e.file == "" {
			return e.toStdout(ctx)
		}
		return e.toFile(ctx)
	})
	cmd.AddCommand(exportWorkbench(p))
	return cmd
}

func (e *export) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	e.Flags(cmd)
	e.kind = command.ChoiceFlag(cmd, "kind", kindEvents, "what to export",
		kindEvents, kindReadings, kindAssignments, kindEscalations, kindAll)
	flags.StringArrayVar(&e.devices, "device", nil,
		"only this `device`, or a prefix: 'press*'; once for each (default all that are listed)")
	e.SpanFlags(cmd, &e.from, &e.to)
	command.MetricsFlag(cmd, &e.metrics)
	e.fileFlags(cmd)
	e.format = command.OutputFlag(cmd, command.FormatNDJSON,
		"form of the entries; in CSV attributes and metadata are JSON in one cell",
		command.FormatNDJSON, command.FormatCSV)
	e.format.Once(cmd, "format")
	flags.Lookup("output").Value = formOrFile{e.format, &e.file}
	flags.BoolVar(&e.goOn, "continue", false,
		"go on with an export to --file that was interrupted")
}

func (e *export) fileFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&e.file, "file", "", "`file` to write to (default standard output)")
	flags.BoolVar(&e.force, "force", false, "replace --file if it is there already")
}

// formOrFile is --output, which in former versions named the file: what has a dot or a slash still
// does.
type formOrFile struct {
	*command.Choice
	file *string
}

func (f formOrFile) Set(text string) error {
	err := f.Choice.Set(text)
	if err != nil && strings.ContainsAny(text, "./") {
		*f.file = text
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w; the file of an export is --file", err)
	}
	return nil
}

// check refuses what can't be right before anything is asked for.
func (e *export) check() error {
	timed := e.from != 0 || e.to != 0
	part := timed || len(e.devices) > 0 || len(e.metrics) > 0
	switch {
	case e.kind.Value == kindAll && (part || e.goOn || e.format.Value != command.FormatNDJSON):
		return andon.Errorf(andon.Invalid, "--kind all is all that the tenant has, as NDJSON: "+
			"it goes with --file alone")
	case e.goOn && e.file == "":
		return andon.Errorf(andon.Invalid, "--continue goes with --file")
	case e.force && e.file == "":
		return andon.Errorf(andon.Invalid, "--force goes with --file")
	case timed && e.kind.Value == kindAssignments:
		return andon.Errorf(andon.Invalid,
			"assignments are exported whole: without --from and --to")
	case len(e.metrics) > 0 && e.kind.Value != kindReadings:
		return andon.Errorf(andon.Invalid, "--metrics goes with --kind readings")
	}
	for _, text := range e.devices {
		if !isPrefix(text) {
			if _, err := command.DeviceArg(text); err != nil {
				return err
			}
		}
	}
	if len(e.devices) == 0 {
		e.devices = []string{"*"}
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
	case is.IsDir():
		return andon.Errorf(andon.Invalid, "%s is a directory: name a file in it", e.file)
	case !is.Mode().IsRegular():
		return andon.Errorf(andon.Invalid, "%s is no regular file: leave out --file, and send "+
			"standard output there", e.file)
	case !e.force:
		return andon.Errorf(andon.Invalid,
			"%s is there already: name another file, or replace it with --force", e.file)
	}
	return nil
}

func isPrefix(text string) bool { return text != "" && text[len(text)-1] == '*' }

func (e *export) toStdout(ctx context.Context) error {
	w := bufio.NewWriter(e.Stdout)
	run := exportRun{export: e, header: true}
	err := e.Ask(ctx, func(c *client.Client) error { return run.all(ctx, c, w) })
	err = errors.Join(err, w.Flush())
	switch {
	case errors.Is(err, syscall.EPIPE): // the reader has seen enough ("| head")
		return nil
	case err != nil:
		return conclude(e.Program, run.outcome(), run.entries > 0, 0, err)
	}
	io.WriteString(e.Stderr, run.unknown.note())
	if draw.IsTerminal(e.Stderr) { // where no one looks, silence says that all went well
		fmt.Fprintln(e.Stderr, run.outcome())
	}
	return nil
}

type exportRun struct {
	*export
	header bool   // CSV still wants the names of its columns
	behind *place // where to go on; nil: from the start
	// done is called behind each device that is whole; it may be nil.
	done func(place) error

	// model takes the events instead of a sink of the format.
	model   command.Sink[andon.Event]
	bar     *draw.Bar
	shown   atomic.Int64 // entries, read by the bar
	entries int
	whole   int // devices
	unknown unknowns
}

// place is how far an export is: which of --device, and which device of that was the last.
type place struct {
	Selector int            `json:"selector"`
	Device   andon.DeviceID `json:"device"`
}

func (r *exportRun) outcome() string {
	return exportedCounts(r.entries, r.kind.Value, r.whole)
}

// exportedCounts says how much was exported of a kind, whose name is a plural.
func exportedCounts(entries int, kind string, devices int) string {
	return "exported " + draw.Count(entries, strings.TrimSuffix(kind, "s")) + " of " +
		draw.Count(devices, "device")
}

// places returns the devices to export, each once: in the order of --device, and those of a prefix
// by id.
func (r *exportRun) places(ctx context.Context, c *client.Client) iter.Seq2[place, error] {
	return func(yield func(place, error) bool) {
		for i, text := range r.export.devices {
			found := false
			for id, err := range r.selected(ctx, c, text) {
				at := place{Selector: i, Device: id}
				found = true
				if err == nil && (r.isBehind(at) || r.isElsewhere(at)) {
					continue
				}
				if !yield(at, err) || err != nil {
					return
				}
			}
			if !found && text != "*" { // a tenant without devices is no slip of the pen
				r.unknown.add(
					"no device that is listed begins with " + draw.Legible(text[:len(text)-1]))
			}
		}
	}
}

func (r *exportRun) selected(
	ctx context.Context, c *client.Client, text string,
) iter.Seq2[andon.DeviceID, error] {
	if !isPrefix(text) { // it need not be listed
		return command.Each([]andon.DeviceID{andon.DeviceID(text)})
	}
	return func(yield func(andon.DeviceID, error) bool) {
		for d, err := range devicesWith(ctx, c, r.kind.Value, text) {
			if !yield(d.Device, err) {
				return
			}
		}
	}
}

// isBehind reports whether an earlier run has exported a device.
func (r *exportRun) isBehind(at place) bool {
	if r.behind == nil || at.Selector != r.behind.Selector {
		return r.behind != nil && at.Selector < r.behind.Selector
	}
	return at.Device <= r.behind.Device
}

// isElsewhere reports whether a device that --device selects is exported for another one: a device
// that is named where its name stands, since a prefix finds it only if it is listed, and the others
// where the first prefix finds them.
func (r *exportRun) isElsewhere(at place) bool {
	here := r.export.devices[at.Selector]
	for i, text := range r.export.devices {
		switch named := text == string(at.Device); {
		case isPrefix(here) && named, i < at.Selector && named:
			return true
		case isPrefix(here) && isPrefix(text) && i < at.Selector:
			if strings.HasPrefix(string(at.Device), text[:len(text)-1]) {
				return true
			}
		}
	}
	return false
}
