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
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/ingest/table"
	"github.com/andonhq/andon/internal/ingest/workbench"
)

// source is a file that is read: its entries, and what there is to say about it.
type source struct {
	kind    string // of its entries; kindAll for an archive
	entries placedEntries
	notes   []string // about the file as a whole
	rows    *rows    // nil for a file that is no table
	ended   int      // assignments that were over, and skipped
	bar     *draw.Bar
	file    io.Closer
}

func (s *source) close() {
	s.bar.End()
	s.file.Close()
}

// open opens the file, whatever kind it is of. What can't be right is an error.
func (o *importOptions) open(p *command.Program) (*source, error) {
	file, size, err := openFile(p, o.file)
	if err != nil {
		return nil, err
	}
	s := &source{kind: o.kind(), file: file, bar: draw.NewFileBar(p.Stderr, o.name(), size)}
	plain, err := table.PlainText(s.bar.Reader(file))
	if err == nil {
		err = s.read(p, o, plain)
	}
	if err != nil {
		s.close()
		return nil, andon.Errorf(andon.KindOf(err), "%s: %w", o.name(), err)
	}
	return s, nil
}

// openQuietly opens a file that is read ahead of its import.
func openQuietly(p *command.Program, o importOptions) (*source, error) {
	quiet := *p
	quiet.Stderr = io.Discard
	return o.open(&quiet)
}

// openFile opens a file and returns its size, 0 where it is not known.
func openFile(p *command.Program, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(p.Stdin), 0, nil
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
func (s *source) read(p *command.Program, o *importOptions, in *bufio.Reader) (err error) {
	const enough = 64
	_, _ = in.Peek(len(archiveBegins)) // no longer: what writes to a pipe may be slow
	begins, _ := in.Peek(min(in.Buffered(), enough))
	isModel := o.workbench || workbench.Begins(begins)
	isArchive := bytes.HasPrefix(begins, []byte(archiveBegins)) && !o.workbench
	switch {
	case o.assigns:
		return s.readTable(p, o, in)
	case o.workbench && slices.Contains([]string{".csv", ".tsv"}, o.extension()):
		s.entries, err = sampleEntries(o, in)
		return err
	case !isModel && !isArchive:
		return s.readTable(p, o, in)
	case len(o.columns) > 0:
		return andon.Errorf(andon.Invalid, "the file has no columns for %s: leave it out",
			strings.Join(o.columns, ", "))
	case isArchive:
		s.kind, s.entries = kindAll, archiveEntries(in)
		return nil
	}
	model, err := parseModel(in)
	if err == nil {
		s.notes, s.entries = model.Notes, modelEntries(model)
	}
	return err
}

func (o *importOptions) name() string {
	if o.file == "-" {
		return "standard input"
	}
	return o.file
}

func (o *importOptions) format() (table.Format, error) {
	if o.formatName != "" {
		return table.ParseFormat(o.formatName)
	}
	if format, ok := map[string]table.Format{
		".csv": table.CSV, ".tsv": table.CSV, ".json": table.JSON,
		".ndjson": table.NDJSON, ".jsonl": table.NDJSON,
	}[o.extension()]; ok {
		return format, nil
	}
	what := "its name does not say the format"
	if o.file == "-" {
		what = "it has no name to show the format"
	}
	return 0, andon.Errorf(andon.Invalid, "%s: say --format csv, json or ndjson", what)
}

// extension is how the name of the file ends, once it is decompressed.
func (o *importOptions) extension() string {
	name := strings.ToLower(filepath.Base(o.file))
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	return filepath.Ext(name)
}

// comma is the one character between cells.
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
