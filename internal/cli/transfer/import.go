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
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/ingest/table"
)

// importer has what the flags of an import say.
type importer struct {
	*command.Program
	*command.Target
	format    string // "": by the name of the file
	delimiter string // "": by the name of the file
	comments  bool
	noHeader  bool
	mapping   table.Mapping
	decimal   *command.Choice // the character before the decimals of a metric
	overlap   *command.Choice // which of several rows that go on at once is shown
	batch     int
	rejects   string // file for all rejected lines; "" for none
	dryRun    bool   // nothing is sent
	form      *command.Choice
	workbench bool   // the files are of NoSQL Workbench
	lines     string // kindAssign or kindProfiles, where the file is of these
}

// What --overlap takes.
const (
	overlapSeverest = "severest"
	overlapLast     = "last"
)

// importFiles imports files one after another, so the later of two lines of one entry wins, in
// whichever file it is. Errors that opening a file shows are returned before anything is sent.
func (im *importer) importFiles(ctx context.Context, files []string) (err error) {
	if im.batch < 1 || im.batch > andon.MaxRequestEntries {
		return andon.Errorf(andon.Invalid, "--batch %d is not within 1 to %d",
			im.batch, andon.MaxRequestEntries)
	}
	if err := im.openAll(files); err != nil {
		return err
	}
	var rejects io.Writer
	if im.rejects != "" {
		file, err := os.Create(im.rejects)
		if err != nil {
			return fmt.Errorf("open --rejects: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		rejects = file
	}
	var rejected error
	for _, name := range files {
		err := im.importFile(ctx, name, rejects)
		if err != nil && !errors.Is(err, command.ErrRejected) {
			return err
		}
		if rejected == nil {
			rejected = err
		}
	}
	return rejected
}

// openAll opens each file once, as far as that shows what can't be right.
func (im *importer) openAll(files []string) error {
	if slices.Contains(files, "-") {
		if len(files) > 1 {
			return andon.Errorf(andon.Invalid,
				"standard input is imported alone, without files")
		}
		return nil
	}
	for _, name := range files {
		s, err := im.open(name, io.Discard)
		if err != nil {
			return err
		}
		s.close()
	}
	return nil
}

func (im *importer) importFile(ctx context.Context, name string, rejects io.Writer) error {
	s, err := im.open(name, im.Stderr)
	if err != nil {
		return err
	}
	defer s.close()
	r := newReport(shownName(name), s.bar, rejects)
	r.DryRun, r.isArchive = im.dryRun, s.kind == kindAll
	switch im.lines {
	case kindAssign:
		r.done = "assigned"
	case kindProfiles:
		r.done = "changed"
	}
	for _, note := range s.notes {
		fmt.Fprintf(s.bar, "%s: %s\n", r.File, draw.Legible(note))
	}
	begun := time.Now()
	err = im.Ask(ctx, func(c *client.Client) error { return im.send(ctx, c, s, r) })
	s.bar.End()
	r.Seconds = time.Since(begun).Seconds()
	if err == nil { // else the file may still be being read
		r.Ended = s.ended
		if s.table != nil && s.table.Overlaps > 0 {
			fmt.Fprintf(im.Stderr, "%s: %s began while another row of the same device went on; "+
				"--overlap severest or last chooses which is shown\n", r.File,
				draw.Count(s.table.Overlaps, "row"))
		}
	}
	io.WriteString(im.Stderr, r.advice(im.Tenant, s.kind))
	return r.finish(im.Program, im.form, err)
}

// send sends the entries of a source as a tenant takes them.
func (im *importer) send(ctx context.Context, c *client.Client, s *source, r *report) error {
	sending := sender{
		Client: c, report: r, tenant: andon.TenantID(im.Tenant), batch: im.batch,
		dryRun: im.dryRun,
	}
	if s.kind == kindEvents {
		tenant, err := c.Tenant(ctx, sending.tenant)
		if err != nil {
			return err
		}
		if s.states, err = andon.NewStateSet(tenant.States); err != nil {
			return err
		}
		sending.states = s.states
	}
	return sending.run(ctx, s.entries)
}

// kind is what the rows of a table become: readings where metrics are named, else events.
func (im *importer) kind() string {
	switch {
	case im.lines != "":
		return im.lines
	case len(im.mapping.Metrics) > 0:
		return kindReadings
	}
	return kindEvents
}

// Import is "andon import".
func Import(p *command.Program) *cobra.Command {
	im := importer{Program: p}
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Import a log of events or readings from files",
		Long: `Import a log from files, one after another: CSV with a header, JSON, or NDJSON;
plain, gzip or zstd; "-" is standard input. Say which columns hold what: several columns, joined by
a comma, make one value ("a/b"), and "=text" is the same text in every row. In JSON, "data.temp" is
a member of an inner object, and "data.*" all of its members; in CSV, of an object that is the text
of a cell.

A field without a flag takes the column of its name, or of a usual name elsewhere, such as DeviceID,
ts and status; the import says which. An empty flag, as --message '', leaves a field out. --metrics
makes readings of the rows. So an export of events needs no flags, and one of readings --metrics
'metrics.*' --metadata 'metadata.*'.

Where rows have a start and an end, --end names the column of the end: then the device is in
--end-state, unless another row of it goes on; such rows have to be sorted by their start.

Rejected lines are reported as FILE:LINE: reason, and the rest is imported. An import can be
repeated, also after it was interrupted: no entry is doubled, because device, time and state (of a
reading: device and time) identify it. Of several rows of one entry the last one wins.

An archive of andon export --kind all and a model of NoSQL Workbench are recognised, and their
columns are known; see also andon import workbench --help. So are items of the table in the
time-series guide for DynamoDB: deviceId, timestamp, numbers, metadata, ttl.`,
		Example: `  andon import log.csv --device unit --time at --state status --operator who
  andon import log.csv.gz --url http://andon:8080 --tenant metro --device unit_id --time time \
      --state symptom_category --message symptom_description --attributes update_type
  andon import status.csv --comments --device '=Kelmarsh 1' --time 'Timestamp start' \
      --state Status,Code --message Message
  andon import 2026-*.csv --device machine --time at --state status --zone Europe/Berlin
  andon import runs.csv --no-header --device 1 --time 2 --end 3 --state 4 --map 0=STOPPED,1=RUN
  andon import sensors.json --device device_id --time ts --precision s --metrics 'data.*'`,
	}
	im.columnFlags(cmd)
	im.sendFlags(cmd)
	p.Does(cmd, im.importFiles)
	cmd.AddCommand(importWorkbench(p))
	// A shell completes the names of files as well as those of the subcommands.
	cmd.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	return cmd
}

func (im *importer) columnFlags(cmd *cobra.Command) {
	flags, m := cmd.Flags(), &im.mapping
	im.Target = im.NewTarget(cmd)
	im.Attempts = command.AttemptsRunning
	flags.StringVar(&im.format, "format", "",
		"csv, json or ndjson (default: by the file's name)")
	flags.StringVar(&im.delimiter, "delimiter", "",
		"character between the cells of CSV, or tab (default , and of a .tsv tab)")
	flags.BoolVar(&im.comments, "comments", false, "skip lines with # before the header of CSV")
	flags.BoolVar(&im.noHeader, "no-header", false,
		"CSV begins with its first row; its columns are 1, 2, 3")

	flags.StringSliceVar(&m.Device, "device", nil, "`columns` of the device")
	flags.StringSliceVar(&m.Time, "time", nil, "`columns` of the time, joined by a space")
	flags.StringSliceVar(&m.State, "state", nil, "`columns` of the state")
	flags.StringToStringVar(&m.States, "map", nil,
		"`states` of the file and what they are here: 0=STOPPED,1=RUN")
	flags.StringSliceVar(&m.End, "end", nil,
		"`columns` of the time at which the state of a row is over")
	flags.StringVar((*string)(&m.EndState), "end-state", "NORMAL",
		"`state` that a device is in when its row is over")
	im.overlap = command.ChoiceFlag(cmd, "overlap", overlapSeverest,
		"with --end, which of several rows that go on at once is shown",
		overlapSeverest, overlapLast)
	flags.StringSliceVar(&m.Operator, "operator", nil, "`columns` of the operator")
	flags.StringSliceVar(&m.Message, "message", nil, "`columns` of the message")
	flags.StringSliceVar(&m.EscalatedTo, "escalated-to", nil, "`columns` of the supervisor")
	flags.StringSliceVar(&m.Attributes, "attributes", nil,
		"`columns` that are kept with the entry")
	flags.StringSliceVar(&m.Metrics, "metrics", nil, "`columns` of the metrics of a reading")
	flags.StringSliceVar(&m.Metadata, "metadata", nil, "`columns` that are kept with the reading")
	im.decimal = command.ChoiceFlag(cmd, "decimal", ".",
		"character before the decimals of a metric", ".", ",")
	m.Precision = andon.Assumed
	command.ParsedFlag(cmd, &m.Precision, "precision",
		"`unit` of times that are numbers: s, ms, us, ns (default ms, of times after 2000)",
		andon.ParsePrecision)
	command.ParsedFlag(cmd, &m.Zone, "zone",
		"time `zone` of times that name none, such as Europe/Berlin or +02:00 (default UTC)",
		table.ParseZone)
	command.ParsedFlag(cmd, &m.Dates, "date-order", "`dmy|mdy|ymd`: how to read 05/11/2026",
		table.ParseDateOrder)
}

// sendFlags say how the entries of a file are sent.
func (im *importer) sendFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&im.batch, "batch", defaultBatch, "entries of one request")
	flags.BoolVar(&im.dryRun, "dry-run", false,
		"read the file, say what would be imported and what not, and send nothing")
	flags.StringVar(&im.rejects, "rejects", "", "`file` to write all rejected lines to")
	im.form = command.SentenceFlag(cmd, command.FormatText)
}
