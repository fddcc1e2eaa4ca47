package transfer

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/ingest/table"
	"github.com/andonhq/andon/internal/ingest/workbench"
)

// source is a file that is read: its entries, and what there is to say about it.
type source struct {
	kind    string // of its entries; kindAll for an archive
	entries placedEntries
	notes   []string        // about the file as a whole
	table   *table.Table    // nil for a file that is none
	states  *andon.StateSet // the severities of rows that go on at once; set before they are read
	ended   int             // assignments that were over, and skipped
	bar     *draw.Bar
	file    io.Closer
}

func (s *source) close() {
	s.bar.End()
	s.file.Close()
}

// open opens a file, whatever kind it is of, and shows on w how far it has been read. What can't be
// right is an error.
func (im *importer) open(name string, w io.Writer) (*source, error) {
	file, size, err := openFile(im.Stdin, name)
	if err != nil {
		return nil, err
	}
	s := &source{kind: im.kind(), file: file, bar: draw.NewFileBar(w, shownName(name), size)}
	plain, err := table.PlainText(s.bar.Reader(file))
	if err == nil {
		err = im.read(s, name, plain)
	}
	if err != nil {
		s.close()
		return nil, andon.Errorf(andon.KindOf(err), "%s: %w", shownName(name), err)
	}
	return s, nil
}

// openFile opens a file and returns its size, 0 where it is not known.
func openFile(stdin io.Reader, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(stdin), 0, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, andon.Errorf(andon.Invalid, "open the file: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = andon.Errorf(andon.Invalid, "%s is a directory: name a file in it", name)
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// read recognises by the first bytes what the file is: an archive, a model of NoSQL Workbench, or a
// table.
func (im *importer) read(s *source, name string, in *bufio.Reader) (err error) {
	const enough = 64
	_, _ = in.Peek(len(archiveBegins)) // no longer: what writes to a pipe may be slow
	begins, _ := in.Peek(min(in.Buffered(), enough))
	isSample := im.workbench && slices.Contains([]string{".csv", ".tsv"}, extension(name))
	switch {
	case im.lines == "" && !isSample && (im.workbench || workbench.Begins(begins)):
		model, err := parseModel(in)
		if err == nil {
			s.notes, s.entries = model.Notes, modelEntries(model)
			if len(model.Items) == 0 && len(model.Readings) > 0 {
				s.kind = kindReadings
			}
		}
		return err
	case im.lines == "" && bytes.HasPrefix(begins, []byte(archiveBegins)):
		s.kind, s.entries = kindAll, archiveEntries(in)
		return nil
	}
	var o table.Options
	if o, err = im.options(name); err != nil {
		return err
	}
	rows, err := table.New(in, o)
	if err != nil {
		return err
	}
	if isSample && !rows.IsFlat() {
		s.entries, err = sampleEntries(rows)
		return err
	}
	s.table = rows
	return im.readRows(s)
}

func (im *importer) readRows(s *source) error {
	m, err := im.mapping, im.checkMapping()
	if err != nil {
		return err
	}
	m.DecimalComma = im.decimal != nil && im.decimal.Value == ","
	if im.overlap != nil && im.overlap.Value == overlapSeverest {
		m.Severity = func(state andon.State) uint8 { return s.states.Severity(state) }
	}
	if s.kind == kindEvents && m.Device == nil && m.Time == nil && m.State == nil &&
		s.table.IsFlat() {
		s.kind, s.entries = kindReadings, wrapReadings(s.table.FlatReadings(m.Precision))
		s.notes = append(s.notes, "taken were readings: each column that is a number is a metric")
		return nil
	}
	switch s.kind {
	case kindReadings:
		var readings table.Items[andon.Reading]
		readings, err = s.table.Readings(m)
		s.entries = wrapReadings(readings)
	case kindAssign:
		var assignments table.Items[andon.Assignment]
		assignments, err = s.table.Assignments(m)
		s.entries = wrapAll(s.inForce(assignments), func(a *andon.Assignment) entry {
			return entry{Assign: a}
		})
	case kindProfiles:
		var profiles table.Items[andon.ProfileChange]
		profiles, err = s.table.Profiles("")
		s.entries = wrapAll(profiles, func(c *andon.ProfileChange) entry {
			return entry{Profile: c}
		})
	default:
		if m.Time == nil && m.State == nil {
			err = notEvents(s.table.Columns)
		}
		if err != nil {
			return err
		}
		var events table.Items[andon.Event]
		events, err = s.table.Events(m)
		s.entries = wrapEvents(events)
	}
	if taken := s.table.Guesses; len(taken) > 0 {
		s.notes = append(s.notes, "taken were "+strings.Join(taken, ", "))
	}
	return err
}

// notEvents refuses columns that andon export writes of something else. An escalation has the
// device, time and state of an event, and taken for one it would replace it.
func notEvents(columns []string) error {
	for _, other := range []struct {
		needs, all []string
		advice     string
	}{
		{
			needs: []string{"device", "time", "state", "to", "at"},
			all:   []string{"device", "time", "state", "to", "at", "by", "note"},
			advice: "these are escalations: andon export --kind all has them with their events, " +
				"to import both",
		},
		{
			needs:  []string{"device", "operator", "from"},
			all:    []string{"device", "operator", "from", "to"},
			advice: "these are assignments: andon assign --from FILE takes those that hold",
		},
	} {
		foreign := func(column string) bool { return !slices.Contains(other.all, column) }
		lacking := func(column string) bool { return !slices.Contains(columns, column) }
		if !slices.ContainsFunc(columns, foreign) && !slices.ContainsFunc(other.needs, lacking) {
			return andon.Errorf(andon.Invalid, "%s", other.advice)
		}
	}
	return nil
}

// inForce leaves out assignments that are over.
func (s *source) inForce(all table.Items[andon.Assignment]) table.Items[andon.Assignment] {
	return func(yield func(table.Item[andon.Assignment], error) bool) {
		for item, err := range all {
			if item.Value.To != 0 {
				s.ended++
			} else if !yield(item, err) {
				return
			}
		}
	}
}

// checkMapping refuses flags that contradict each other.
func (im *importer) checkMapping() error {
	m := &im.mapping
	switch {
	case len(m.State) > 0 && len(m.Metrics) > 0:
		return andon.Errorf(andon.Invalid, "--state makes events of the rows, and --metrics "+
			"readings: give one of them\n"+
			"What is kept with an event is --attributes, with a reading --metadata")
	case len(m.Metrics) == 0 && len(m.Metadata) > 0:
		return andon.Errorf(andon.Invalid, "--metadata is kept with readings, which "+
			"--metrics names\nWhat is kept with an event is --attributes")
	case len(m.End) > 0:
		return m.EndState.Validate()
	}
	return nil
}

func shownName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// options are how to read a table: its format as the flag says, or the name of the file.
func (im *importer) options(name string) (o table.Options, err error) {
	o = table.Options{Comments: im.comments, NoHeader: im.noHeader}
	by := im.format
	if by == "" {
		by = map[string]string{
			".csv": "csv", ".tsv": "csv", ".json": "json", ".ndjson": "json", ".jsonl": "json",
		}[extension(name)]
	}
	if by == "" {
		return o, andon.Errorf(andon.Invalid,
			"its name does not say the format: say --format csv, json or ndjson")
	}
	if o.Format, err = table.ParseFormat(by); err != nil {
		return o, err
	}
	if im.delimiter == "tab" || im.delimiter == "" && extension(name) == ".tsv" {
		o.Comma = '\t'
	} else if im.delimiter != "" {
		var size int
		if o.Comma, size = utf8.DecodeRuneInString(im.delimiter); size != len(im.delimiter) {
			return o, andon.Errorf(andon.Invalid, "--delimiter %q is not one character or tab",
				im.delimiter)
		}
	}
	return o, nil
}

// extension is how the name of a file ends, once it is decompressed.
func extension(file string) string {
	name := strings.ToLower(filepath.Base(file))
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	return filepath.Ext(name)
}
