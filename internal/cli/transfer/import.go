// Package transfer is the commands that read and write files: "import", "export", and "assign",
// which can read from a file who is assigned.
//
// An import is a source, which makes entries of a file of any format; a sender, which sends them
// and knows no format; and a report, which accounts for every line. An export walks the devices
// and puts what each has into a sink. Formats are read and written by the packages below
// internal/ingest.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/ingest/table"
)

type importOptions struct {
	command.Target
	file       string // "-" is standard input
	formatName string // "": by the name of the file
	delimiter  string // "": by the name of the file
	comments   bool
	noHeader   bool
	zone       string            // of times that name none
	dateOrder  string            // of dates such as 05/11/2026; "": the file proves it
	states     map[string]string // what states of the file are called here
	precision  string
	precisely  bool // --precision was given, so the unit is not doubted
	mapping    table.Mapping
	decimal    *command.Choice // the character before the decimals of a metric
	overlap    *command.Choice // which of several rows that go on at once is shown
	newStates  string          // refuse, allow or a severity; "" is refuse
	batch      int
	rejects    string // file for all rejected lines; "" for none
	dryRun     bool   // nothing is sent
	form       *command.Choice
	workbench  bool // the file is one of NoSQL Workbench
	assigns    bool // the file is of assignments
	ahead      bool // the file is read only to learn the order of its dates
	// columns are the flags that were given and say what is in which column.
	columns []string
}

// What --overlap takes.
const (
	overlapSeverest = "severest"
	overlapLast     = "last"
)

// importFiles imports files one after another, so the later of two lines of one entry wins, in
// whichever file it is. Errors that opening a file shows are returned before anything is sent.
func (o importOptions) importFiles(
	ctx context.Context, p *command.Program, files []string,
) (err error) {
	if o.batch < 1 || o.batch > andon.MaxRequestEntries {
		return andon.Errorf(andon.Invalid, "--batch %d is not within 1 to %d",
			o.batch, andon.MaxRequestEntries)
	}
	stateful, err := o.checkFiles(p, files)
	if err != nil {
		return err
	}
	refusal, err := decideStates(ctx, p, o, stateful)
	if err != nil {
		return err
	}
	var rejects io.Writer
	if o.rejects != "" {
		file, err := os.Create(o.rejects)
		if err != nil {
			return fmt.Errorf("open --rejects: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		rejects = file
	}
	var rejected error
	for _, o.file = range files {
		err := o.importFile(ctx, p, rejects)
		if err != nil && !errors.Is(err, command.ErrRejected) {
			return err
		}
		if rejected == nil {
			rejected = err
		}
	}
	return errors.Join(rejected, refusal)
}

// checkFiles opens each file once, as far as that shows what can't be right. It returns the files
// that may have states that the tenant does not know: an archive has its own set.
func (o importOptions) checkFiles(
	p *command.Program, files []string,
) (stateful []string, err error) {
	for _, o.file = range files {
		if o.file == "-" {
			if len(files) > 1 {
				return nil, andon.Errorf(andon.Invalid,
					"standard input is imported alone, without files")
			}
			return files, nil
		}
		s, err := openQuietly(p, o)
		if err != nil {
			return nil, err
		}
		s.close()
		if s.kind == kindEvents {
			stateful = append(stateful, o.file)
		}
	}
	return stateful, nil
}

// importFile imports one file and reports what came of it.
func (o importOptions) importFile(
	ctx context.Context, p *command.Program, rejects io.Writer,
) error {
	s, err := o.open(p)
	if err != nil {
		return err
	}
	defer s.close()
	r := newReport(o.name(), s.bar, rejects)
	r.DryRun, r.isArchive = o.dryRun, s.kind == kindAll
	if o.assigns {
		r.done = "assigned"
	}
	for _, note := range s.notes {
		fmt.Fprintf(s.bar, "%s: %s\n", r.File, draw.Legible(note))
	}
	begun := time.Now()
	err = o.Ask(ctx, func(c *client.Client) error { return o.send(ctx, c, s, r) })
	s.bar.End()
	r.Seconds = time.Since(begun).Seconds()
	if err == nil { // else the file may still be being read
		r.Ended = s.ended
		if s.rows != nil {
			for _, remark := range s.rows.remarks() {
				fmt.Fprintf(p.Stderr, "%s: %s\n", r.File, remark)
			}
		}
	}
	io.WriteString(p.Stderr, o.advice(s, r))
	return r.finish(p, o.form, err)
}

// send sends the entries of a source as a tenant takes them.
func (o *importOptions) send(ctx context.Context, c *client.Client, s *source, r *report) error {
	sending := sender{
		Client: c, report: r, tenant: andon.TenantID(o.Tenant), batch: o.batch, dryRun: o.dryRun,
	}
	if s.kind == kindEvents || s.kind == kindReadings {
		sending.Client = c.WithOutcomes()
	}
	if s.rows != nil {
		sending.doubt = s.rows.doubt
	}
	entries := s.entries
	if s.kind == kindEvents {
		tenant, err := c.Tenant(ctx, sending.tenant)
		if err != nil {
			return err
		}
		r.strange = strangeTo(tenant.States)
		if s.rows != nil {
			if err := s.rows.orderOverlaps(tenant.States); err != nil {
				return err
			}
		}
		if o.file == "-" && o.newStates == refuseStates || o.dryRun &&
			o.newStates == allowStates && tenant.UnknownStates == andon.RefuseUnknown {
			entries = r.strange.refuse(entries) // as the server does
		}
	}
	return sending.run(ctx, entries)
}

// advice says what to do about what the report counts.
func (o *importOptions) advice(s *source, r *report) (text string) {
	if r.expired > 0 { // a longer retention does not bring back what has expired
		text = fmt.Sprintf("%d too old for tenant %s; a new tenant keeps all: "+
			"andon tenant set NEW --%s-retention forever\n", r.expired, o.Tenant, o.kind())
	}
	if r.Replaced > 0 && s.kind == kindEvents && s.rows != nil {
		text += fmt.Sprintf("%s replaced what had the same device, time and state; where these "+
			"are entries of their own, make the state of more columns, as with --state A,B\n",
			draw.Count(r.Replaced, "row"))
	}
	if !o.dryRun || o.file == "-" || o.newStates == allowStates { // else decideStates said it
		text += r.strange.note(o.Tenant)
	}
	return text
}

// kind is what the rows of a table become: readings where metrics are named, else events.
func (o *importOptions) kind() string {
	switch {
	case o.assigns:
		return kindAssign
	case len(o.mapping.Metrics) > 0:
		return kindReadings
	}
	return kindEvents
}

// Import is "andon import".
func Import(p *command.Program) *cobra.Command {
	o := importOptions{Target: p.NewTarget()}
	o.Attempts = command.AttemptsRunning
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Import a log of events or readings from files",
		Long: `Import a log from files, one after another: CSV with a header, JSON, or NDJSON;
plain, gzip or zstd; "-" is standard input. Say which columns hold what: several columns, joined by
a comma, make one value ("a/b"), and "=text" is the same text in every row. In JSON, "data.temp" is
a member of an inner object, and "data.*" all of its members; in CSV, of an object that is the text
of a cell.

Without --device, --time and --state the columns of these names are taken, or of usual names
elsewhere, such as DeviceID, ts and status; the import says which. A file without a header is read
with --no-header, and its columns are 1, 2, 3. --map 0=STOPPED,1=RUN renames states. A time without
a zone is UTC, or the local time of --zone. The order of day and month in 05/11/2026 is the one that
the file proves by a number above 12, or --date-order. Where rows have a start and an end, --end
names the column of the end: then the device is in --end-state, unless another row of it goes on;
such rows have to be sorted by their start. Of several that go on at once the severest is shown, or
with --overlap last the one that began last.

Without a flag for them, operator, message, escalated_to and attributes are taken from the columns
of these very names, where there are any: an export of events needs no flags. An empty flag, as
--message '', leaves one out. A cell of the column attributes that is a JSON object is expanded.

With --metrics and without --state, readings are imported instead of events. An export of readings
needs --metrics 'metrics.*' --metadata 'metadata.*', or the names of its columns.

Rejected lines are reported as FILE:LINE: reason, and the rest is imported. An import can be
repeated, also after it was interrupted: no entry is doubled, because device, time and state (of a
reading: device and time) identify it. Of several rows of one entry the last one wins. The report
says how many entries are new, how many were there already, and how many replaced other content.

An archive of andon export --kind all and a model of NoSQL Workbench are recognised; see also
andon import workbench --help.`,
		Example: `  andon import log.csv --device unit --time at --state status --operator who
  andon import log.csv.gz --url http://andon:8080 --tenant metro --device unit_id --time time \
      --state symptom_category --message symptom_description --attributes update_type
  andon import status.csv --comments --device '=Kelmarsh 1' --time 'Timestamp start' \
      --state Status,Code --message Message
  andon import 2026-*.csv --device machine --time at --state status --zone Europe/Berlin
  andon import runs.csv --no-header --device 1 --time 2 --end 3 --state 4 --map 0=STOPPED,1=RUN
  andon import sensors.json --device device_id --time ts --precision s --metrics 'data.*'`,
		Args: cobra.MinimumNArgs(1),
	}
	importFlags(cmd, &o)
	cmd.RunE = p.Does(func(ctx context.Context, args []string) error {
		o.learn(cmd)
		return o.importFiles(ctx, p, args)
	})
	cmd.AddCommand(importWorkbench(p))
	cmd.ValidArgsFunction = files
	return cmd
}

// learn notes which flags were given.
func (o *importOptions) learn(cmd *cobra.Command) {
	for _, field := range []string{
		"device", "time", "state", "operator", "message", "escalated_to", "attributes",
	} {
		if !cmd.Flags().Changed(strings.ReplaceAll(field, "_", "-")) {
			o.mapping.Unnamed = append(o.mapping.Unnamed, field)
		}
	}
	o.precisely = cmd.Flags().Changed("precision")
	// The subcommand has all flags but those about columns, and the format.
	sub := cmd.Commands()[0].Flags()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if sub.Lookup(f.Name) == nil && f.Name != "format" {
			o.columns = append(o.columns, "--"+f.Name)
		}
	})
}

// files lets a shell complete the names of files as well as those of the subcommands.
func files(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

func importFlags(cmd *cobra.Command, o *importOptions) {
	flags, m := cmd.Flags(), &o.mapping
	o.Flags(cmd)
	flags.StringVar(&o.formatName, "format", "",
		"csv, json or ndjson (default: by the file's name)")
	flags.StringVar(&o.delimiter, "delimiter", "",
		"character between the cells of CSV, or tab (default , and of a .tsv tab)")
	flags.BoolVar(&o.comments, "comments", false, "skip lines with # before the header of CSV")

	flags.BoolVar(&o.noHeader, "no-header", false,
		"CSV begins with its first row; its columns are 1, 2, 3")

	flags.StringSliceVar(&m.Device, "device", []string{"device"}, "`columns` of the device")
	flags.StringSliceVar(&m.Time, "time", []string{"time"},
		"`columns` of the time, joined by a space")
	flags.StringSliceVar(&m.State, "state", nil, "`columns` of the state (default [state])")
	flags.StringToStringVar(&o.states, "map", nil,
		"`states` of the file and what they are here: 0=STOPPED,1=RUN")
	flags.StringSliceVar(&m.End, "end", nil,
		"`columns` of the time at which the state of a row is over")
	flags.StringVar((*string)(&m.EndState), "end-state", "NORMAL",
		"`state` that a device is in when its row is over")
	o.overlap = command.ChoiceFlag(cmd, "overlap", overlapSeverest,
		"with --end, which of several rows that go on at once is shown",
		overlapSeverest, overlapLast)
	flags.StringSliceVar(&m.Operator, "operator", nil, "`columns` of the operator")
	flags.StringSliceVar(&m.Message, "message", nil, "`columns` of the message")
	flags.StringSliceVar(&m.EscalatedTo, "escalated-to", nil, "`columns` of the supervisor")
	flags.StringSliceVar(&m.Attributes, "attributes", nil,
		"`columns` that are kept with the entry")
	flags.StringSliceVar(&m.Metrics, "metrics", nil, "`columns` of the metrics of a reading")
	flags.StringSliceVar(&m.Metadata, "metadata", nil, "`columns` that are kept with the reading")
	o.decimal = command.ChoiceFlag(cmd, "decimal", ".",
		"character before the decimals of a metric", ".", ",")
	flags.StringVar(&m.Join, "join", "/", "text between joined columns")
	flags.StringVar(&o.precision, "precision", "ms",
		"unit of times that are numbers: s, ms, us, ns")
	flags.StringVar(&o.zone, "zone", "UTC",
		"time `zone` of times that name none, such as Europe/Berlin or +02:00")
	flags.StringVar(&o.dateOrder, "date-order", "",
		"`dmy|mdy|ymd`: how to read 05/11/2026 (default: as the file proves)")
	sendFlags(cmd, o)
}

// sendFlags say how the entries of a file are sent.
func sendFlags(cmd *cobra.Command, o *importOptions) {
	flags := cmd.Flags()
	flags.StringVar(&o.newStates, "new-states", "",
		"states outside the set: refuse, allow or 64")
	flags.IntVar(&o.batch, "batch", defaultBatch, "entries of one request")
	flags.BoolVar(&o.dryRun, "dry-run", false,
		"read the file, say what would be imported and what not, and send nothing")
	flags.StringVar(&o.rejects, "rejects", "", "`file` to write all rejected lines to")
	o.form = command.SentenceFlag(cmd, command.FormatText)
}
