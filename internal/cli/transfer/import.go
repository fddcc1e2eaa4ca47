// Package transfer is the commands that read and write files: "import", "export" and "assign",
// which reads who is assigned from a file.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/ingest/table"
)

type importOptions struct {
	command.Target
	file      string // "-" is standard input
	format    string // "" is told by the name of the file
	delimiter string // "" is told by the name of the file
	comments  bool
	noHeader  bool
	zone      string            // of times that name none
	dateOrder string            // of dates such as 05/11/2026; "" is told by the file
	ahead     bool              // the file is only looked through for that
	states    map[string]string // what states of the file are called here
	precision string
	precisely bool // precision was given, so it is not doubted
	mapping   table.Mapping
	decimal   *command.Choice // what stands before the decimals of a metric
	overlap   *command.Choice // which of several rows that go on at once is shown
	newStates string          // refuse, allow or a severity; "" asks or refuses
	batch     int
	rejects   string // file for all rejected lines; "" for none
	dryRun    bool   // nothing is sent
	appends   bool   // rejects has lines of other files
	workbench bool   // the file is of NoSQL Workbench
	// columns are the flags that were given and say what stands in which column.
	columns []string
}

// What --overlap takes.
const (
	overlapSeverest = "severest"
	overlapLast     = "last"
)

// importFiles imports files one after another, so that of two lines of one entry the later stands,
// in whichever of them. What can't be right in one of them is refused before anything is sent.
func importFiles(ctx context.Context, p *command.Program, o importOptions, files []string) error {
	if err := checkFiles(p, o, files); err != nil {
		return err
	}
	refusal, err := decideStates(ctx, p, o, files)
	if err != nil {
		return err
	}
	if len(files) == 1 {
		o.file = files[0]
		return errors.Join(importFile(ctx, p, o), refusal)
	}
	rejected := false
	for _, file := range files {
		o.file = file
		err := importFile(ctx, p, o)
		if err != nil && !errors.Is(err, command.ErrRejected) {
			return err
		}
		rejected = rejected || err != nil
		o.appends = true
	}
	if rejected {
		return errors.Join(command.ErrRejected, refusal)
	}
	return refusal
}

// checkFiles opens each file once, as far as that tells what can't be right.
func checkFiles(p *command.Program, o importOptions, files []string) error {
	quiet := *p
	quiet.Stderr = io.Discard
	for _, o.file = range files {
		switch {
		case o.file == "-" && len(files) > 1:
			return andon.Errorf(andon.Invalid,
				"standard input is imported alone, without files")
		case o.file == "-", isArchive(p, o.file):
			continue
		}
		source, err := openSource(&quiet, o)
		if err != nil {
			return err
		}
		source.progress.End()
		source.Close()
	}
	return nil
}

// Import is "andon import".
func Import(p *command.Program) *cobra.Command {
	o := importOptions{Target: p.NewTarget()}
	o.Attempts = command.AttemptsRunning
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Import a log of events or readings from files",
		Long: "Import a log from files, one after another: " +
			`CSV with a header, JSON, or NDJSON; plain, gzip or zstd; "-" is
standard input. Say which columns hold what: several columns, joined by a comma, make one value
("a/b"), and "=text" is the same text in every row. In JSON, "data.temp" is a member of an object
within, and "data.*" all of its members; in CSV, of an object that is the text of a cell.

Without --device, --time and --state the columns of these names are taken, or what they are usually
called elsewhere, such as DeviceID, ts and status; what was taken is said. A file without a header
is read with --no-header, and its columns are 1, 2, 3. --map 0=STOPPED,1=RUN renames states. A time
without a zone is UTC, or as a clock in --zone shows it. A date such as 05/11/2026 is read as the
file proves by one with a number above 12, or by --date-order. Where rows have a start and an end,
--end names the column of the end: then a device is in --end-state, unless another row of it goes
on; such rows have to stand in the order of their start. Of several that go on at once the severest
is shown, or with --overlap last the one that began last.

Without a flag for them, operator, message, escalated_to and attributes are taken from the columns
of these very names, where there are any: an export of events needs no flags. An empty flag, as
--message '', leaves one out. A cell of the column attributes that is a JSON object is expanded.

With --metrics and without --state, readings are imported instead of events. An export of readings
needs --metrics 'metrics.*' --metadata 'metadata.*', or the names of its columns.

Lines that are rejected are reported with their numbers, as FILE:LINE: reason, and the rest goes on.
An import can be repeated, also after it was interrupted: an entry that is there already is not
doubled, because device, time and state (of a reading: device and time) identify it. Of several rows
of one entry the last one stands. The outcome says how many entries are new, how many were there
already, and how many replaced other content.

A model of NoSQL Workbench is recognised: see andon import workbench --help.`,
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
		return importFiles(ctx, p, o, args)
	})
	cmd.AddCommand(importWorkbench(p))
	cmd.ValidArgsFunction = files
	return cmd
}

// learn notes which flags were given.
func (o *importOptions) learn(cmd *cobra.Command) {
	for _, field := range []string{"device", "time", "state"} {
		if !cmd.Flags().Changed(field) {
			o.mapping.Unnamed = append(o.mapping.Unnamed, field)
		}
	}
	for field, flag := range optionalFields {
		if !cmd.Flags().Changed(flag) {
			o.mapping.Standard = append(o.mapping.Standard, field)
			o.mapping.Unnamed = append(o.mapping.Unnamed, field)
		}
	}
	o.precisely = cmd.Flags().Changed("precision")
	o.columns = columnFlags(cmd)
}

// files lets a shell complete the names of files beside those of the commands below.
func files(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// columnFlags are the flags that were given and that a file without columns can't obey.
func columnFlags(cmd *cobra.Command) (given []string) {
	for _, name := range []string{
		"comments", "no-header", "device", "time", "state", "map", "end", "end-state", "overlap",
		"operator", "message", "escalated-to", "attributes", "metrics", "metadata", "decimal",
		"join", "precision", "zone",
		"date-order",
	} {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	return given
}

// optionalFields are the fields that import takes by itself, with the flag that says otherwise.
var optionalFields = map[string]string{
	"operator": "operator", "message": "message", "escalated_to": "escalated-to",
	"attributes": "attributes",
}

func importFlags(cmd *cobra.Command, o *importOptions) {
	flags, m := cmd.Flags(), &o.mapping
	o.Flags(cmd)
	flags.StringVar(&o.format, "format", "", "csv, json or ndjson (default: by the file's name)")
	flags.StringVar(&o.delimiter, "delimiter", "",
		"what stands between the cells of CSV, or tab (default , and of a .tsv tab)")
	flags.BoolVar(&o.comments, "comments", false, "pass over lines with # before the header of CSV")

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
		"`columns` that are kept beside the entry")
	flags.StringSliceVar(&m.Metrics, "metrics", nil, "`columns` of the metrics of a reading")
	flags.StringSliceVar(&m.Metadata, "metadata", nil, "`columns` that are kept beside the reading")
	o.decimal = command.ChoiceFlag(cmd, "decimal", ".",
		"what stands before the decimals of a metric", ".", ",")
	flags.StringVar(&m.Join, "join", "/", "what stands between joined columns")
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
}

// importFile imports one file and prints what came of it. What can't be right is refused before
// the server is asked.
func importFile(ctx context.Context, p *command.Program, o importOptions) error {
	if o.batch < 1 || o.batch > andon.MaxRequestEntries {
		return andon.Errorf(andon.Invalid, "--batch %d is not within 1 to %d",
			o.batch, andon.MaxRequestEntries)
	}
	if isArchive(p, o.file) {
		return importArchive(ctx, p, o)
	}
	source, err := openSource(p, o)
	if err != nil {
		return err
	}
	defer source.Close()
	o.workbench = source.table == nil
	r, err := newReport(o, source.progress)
	if err != nil {
		source.progress.End()
		return err
	}
	r.file = o.name()
	io.WriteString(source.progress, source.taken())
	begun := time.Now()
	err = o.Ask(ctx, func(c *client.Client) error { return source.send(ctx, c, r) })
	source.progress.End()
	io.WriteString(p.Stderr, source.ambiguous()+source.overlapping())
	return errors.Join(finishImport(p, o, r, time.Since(begun), err), r.close())
}

// finishImport prints the outcome and turns what ended the import into what to do next.
func finishImport(
	p *command.Program, o importOptions, r *report, took time.Duration, err error,
) error {
	io.WriteString(p.Stderr, r.hidden()+r.tooOld(&o)+r.replacing(&o))
	if !o.dryRun || o.file == "-" || o.newStates == allowStates { // else it was told before
		io.WriteString(p.Stderr, r.strange.note(o.Tenant))
	}
	accepted, rejected := r.counts()
	did := "imported"
	if o.dryRun {
		did = "nothing was sent; would import"
	}
	outcome := fmt.Sprintf("%s %d, rejected %d of %s in %.1fs",
		did, accepted, rejected, r.file, took.Seconds())
	if errors.Is(err, command.ErrInterrupted) {
		err = fmt.Errorf("%w\nRun it again to go on: nothing is doubled", err)
	}
	switch {
	case err != nil:
	case accepted > 0 && !o.dryRun:
		outcome += ": " + r.outcomes()
	case accepted+rejected == 0:
		outcome += "; there are no rows in it"
	}
	return conclude(p, outcome, accepted > 0, rejected, err)
}

// conclude says what was done, or what was done until an error ended it.
func conclude(p *command.Program, outcome string, done bool, rejected int, err error) error {
	switch {
	case err != nil && !done:
		return err
	case err != nil: // %s: what went well so far is no wrong use any more
		return fmt.Errorf("%s, then it ended: %s", outcome, err)
	}
	fmt.Fprintln(p.Stdout, outcome)
	if rejected > 0 {
		return command.ErrRejected
	}
	return nil
}

// kind is what the rows become: readings where metrics are named and states are not, else events.
func (o *importOptions) kind() string {
	if len(o.mapping.Metrics) > 0 {
		return kindReadings
	}
	return kindEvents
}

func (o *importOptions) name() string {
	if o.file == "-" {
		return "standard input"
	}
	return o.file
}

func formatOf(o importOptions) (table.Format, error) {
	if o.format != "" {
		return table.ParseFormat(o.format)
	}
	if format, ok := map[string]table.Format{
		".csv": table.CSV, ".tsv": table.CSV, ".json": table.JSON,
		".ndjson": table.NDJSON, ".jsonl": table.NDJSON,
	}[o.extension()]; ok {
		return format, nil
	}
	if o.file == "-" {
		return 0, andon.Errorf(andon.Invalid,
			"standard input has no name to tell the format: say --format csv, json or ndjson")
	}
	switch filepath.Ext(o.file) {
	case ".xlsx", ".xls", ".ods":
		return 0, andon.Errorf(andon.Invalid, "%s is a spreadsheet: save its sheet as CSV", o.file)
	}
	return 0, andon.Errorf(andon.Invalid,
		"the name %s does not tell the format: say --format csv, json or ndjson", o.file)
}

// extension is how the name of the file ends, once it is decompressed.
func (o *importOptions) extension() string {
	name := strings.ToLower(filepath.Base(o.file))
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	return filepath.Ext(name)
}

// comma is the one character that stands between cells.
func (o *importOptions) comma() (rune, error) {
	switch {
	case o.delimiter == "" && o.extension() == ".tsv", o.delimiter == `\t`, o.delimiter == "tab":
		return '\t', nil
	case o.delimiter == "":
		return ',', nil
	}
	comma, size := utf8.DecodeRuneInString(o.delimiter)
	if size != len(o.delimiter) {
		return 0, andon.Errorf(andon.Invalid, "--delimiter %q is not one character or tab",
			o.delimiter)
	}
	return comma, nil
}
