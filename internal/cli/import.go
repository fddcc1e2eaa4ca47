package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/ingest/table"
)

// importOptions are what the flags of import ask for.
type importOptions struct {
	file      string // "-" is standard input
	url       string
	tenant    string
	tokenFile string
	format    string // "" is told by the name of the file
	delimiter string
	comments  bool
	precision string
	mapping   table.Mapping
	batch     int
	rejects   string // file for all rejected lines; "" for none
}

func (p *program) importCommand() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import a log of events or readings from a file",
		Long: "Import a log from a file: " +
			`CSV with a header, a JSON array of objects, or NDJSON; plain or
gzip; "-" is standard input. Say which columns hold what: several columns, joined by a comma, make
one value ("a/b"), and "=text" is the same text in every row. In JSON, "data.temp" is a member of
an object within, and "data.*" all of its members.

Without a flag for them, operator, message, escalated_to and attributes are taken from the columns
of these very names, where there are any: an export of events needs no flags. An empty flag, as
--message '', leaves one out. A cell of the column attributes that is a JSON object is expanded.

With --metrics and without --state, readings are imported instead of events.

Lines that are rejected are reported with their numbers, as FILE:LINE: reason, and the rest goes on.
An import can be repeated, also after it was interrupted: an entry that is there already is not
doubled, because device, time and state (of a reading: device and time) identify it.`,
		Example: `  andon import log.csv --device unit --time at --state status --operator who
  andon import log.csv.gz --url http://andon:8080 --tenant metro --device unit_id --time time \
      --state symptom_category --message symptom_description --attributes update_type
  andon import status.csv --comments --device '=Kelmarsh 1' --time 'Timestamp start' \
      --state Status,Code --message Message
  andon import sensors.json --device device_id --time ts --precision s --metrics 'data.*'`,
		Args: cobra.ExactArgs(1),
	}
	p.importFlags(cmd, &o)
	cmd.RunE = p.does(func(ctx context.Context, args []string) error {
		o.file = args[0]
		for field, flag := range optionalFields {
			if !cmd.Flags().Changed(flag) {
				o.mapping.Standard = append(o.mapping.Standard, field)
			}
		}
		return p.importFile(ctx, o)
	})
	return cmd
}

// optionalFields are the fields that import takes by itself, with the flag that says otherwise.
var optionalFields = map[string]string{
	"operator": "operator", "message": "message", "escalated_to": "escalated-to",
	"attributes": "attributes",
}

func (p *program) importFlags(cmd *cobra.Command, o *importOptions) {
	flags, m := cmd.Flags(), &o.mapping
	flags.SortFlags = false
	flags.StringVar(&o.url, "url", "http://127.0.0.1:8080", "address of the server")
	flags.StringVar(&o.tenant, "tenant", string(andon.DefaultTenant), "tenant to import for")
	flags.StringVar(&o.tokenFile, "token-file", p.variable("ANDON_TOKEN_FILE"),
		"file that holds the server's token")
	flags.StringVar(&o.format, "format", "", "csv, json or ndjson (default: by the file's name)")
	flags.StringVar(&o.delimiter, "delimiter", ",", "what stands between the cells of CSV")
	flags.BoolVar(&o.comments, "comments", false, "pass over lines with # before the header of CSV")

	flags.StringSliceVar(&m.Device, "device", []string{"device"}, "`columns` of the device")
	flags.StringSliceVar(&m.Time, "time", []string{"time"},
		"`columns` of the time, joined by a space")
	flags.StringSliceVar(&m.State, "state", nil, "`columns` of the state (default [state])")
	flags.StringSliceVar(&m.Operator, "operator", nil, "`columns` of the operator")
	flags.StringSliceVar(&m.Message, "message", nil, "`columns` of the message")
	flags.StringSliceVar(&m.EscalatedTo, "escalated-to", nil, "`columns` of the supervisor")
	flags.StringSliceVar(&m.Attributes, "attributes", nil,
		"`columns` that are kept beside the entry")
	flags.StringSliceVar(&m.Metrics, "metrics", nil, "`columns` of the metrics of a reading")
	flags.StringSliceVar(&m.Metadata, "metadata", nil, "`columns` that are kept beside the reading")
	flags.StringVar(&m.Join, "join", "/", "what stands between joined columns")
	flags.StringVar(&o.precision, "precision", "ms",
		"unit of times that are numbers: s, ms, us, ns")

	flags.IntVar(&o.batch, "batch", defaultBatch, "entries of one request")
	flags.StringVar(&o.rejects, "rejects", "", "`file` to write all rejected lines to")
}

// importFile imports one file and prints what came of it.
func (p *program) importFile(ctx context.Context, o importOptions) error {
	c, err := p.importClient(o)
	if err != nil {
		return err
	}
	defer c.Close()
	source, err := p.openSource(o)
	if err != nil {
		return err
	}
	defer source.Close()
	r, err := newReport(o, source.progress)
	if err != nil {
		return err
	}
	begun := time.Now()
	err = source.send(ctx, c, r)
	source.progress.end()
	return errors.Join(p.finishImport(o, r, time.Since(begun), err), r.close())
}

func (p *program) importClient(o importOptions) (*client.Client, error) {
	if o.batch < 1 || o.batch > andon.MaxRequestEntries {
		return nil, andon.Errorf(andon.Invalid, "--batch %d is not within 1 to %d",
			o.batch, andon.MaxRequestEntries)
	}
	token, err := readTokenFile(o.tokenFile)
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Options{URL: o.url, Tenant: andon.TenantID(o.tenant), Token: token})
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "%w", err)
	}
	return c, nil
}

func readTokenFile(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", andon.Errorf(andon.Invalid, "read --token-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// finishImport prints the outcome and turns what ended the import into what to do next.
func (p *program) finishImport(o importOptions, r *report, took time.Duration, err error) error {
	io.WriteString(p.stderr, r.hidden())
	io.WriteString(p.stderr, r.strange.note(o.tenant))
	accepted, rejected := r.counts()
	outcome := fmt.Sprintf("imported %d, rejected %d of %s in %.1fs",
		accepted, rejected, r.file, took.Seconds())
	if err != nil && accepted == 0 {
		return explain(o, err)
	}
	if err != nil { // %s: what went well so far is no wrong use any more
		return fmt.Errorf("%s, then it ended: %s", outcome, explain(o, err))
	}
	fmt.Fprintln(p.stdout, outcome)
	if rejected > 0 {
		return errRejected
	}
	return nil
}

// explain says what to do about an error of the server.
func explain(o importOptions, err error) error {
	var e *client.Error
	var unreached *net.OpError
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted\nRun it again to go on: nothing is doubled")
	case errors.As(err, &unreached):
		return fmt.Errorf("%w\nIs a server running at %s? andon serve starts one, "+
			"--url names another", err, o.url)
	case errors.As(err, &e) && e.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w\nName the file that holds the server's token with --token-file", err)
	case errors.As(err, &e) && e.Status == http.StatusNotFound && isAboutTenant(e.Detail):
		return fmt.Errorf("%w\nandon tenant list shows all, andon tenant set %s makes this one",
			err, shellWord(o.tenant))
	}
	return err
}

// formatOf tells the format of a file by its name.
func formatOf(o importOptions) (table.Format, error) {
	if o.format != "" {
		return table.ParseFormat(o.format)
	}
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(o.file)), ".gz")
	switch filepath.Ext(name) {
	case ".csv":
		return table.CSV, nil
	case ".json":
		return table.JSON, nil
	case ".ndjson", ".jsonl":
		return table.NDJSON, nil
	}
	return 0, andon.Errorf(andon.Invalid,
		"the name %s does not tell the format: say --format csv, json or ndjson", o.file)
}

// delimiterOf reads the one character that stands between cells.
func delimiterOf(text string) (rune, error) {
	if text == `\t` || text == "tab" {
		return '\t', nil
	}
	comma, size := utf8.DecodeRuneInString(text)
	if size == 0 || size != len(text) {
		return 0, andon.Errorf(andon.Invalid, "--delimiter %q is not one character or tab", text)
	}
	return comma, nil
}
