// Package table reads rows of files for import: CSV, JSON, or objects line by line; plain, gzip or
// zstd, of any size in constant memory. On top of the rows a Mapping says which columns make an
// event or a reading.
//
// A row that is wrong is reported with its place and the rest goes on; only what makes the rest
// unreadable ends a file. The package knows no server, no flag and no tenant.
package table

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
)

// Format is how a file is divided into rows.
type Format uint8

// The formats.
const (
	CSV    Format = iota // RFC 4180 with a header
	JSON                 // an array of objects, or objects one after another
	NDJSON               // an object in each line
)

// ParseFormat reads csv, json or ndjson.
func ParseFormat(text string) (Format, error) {
	i := slices.Index([]string{CSV: "csv", JSON: "json", NDJSON: "ndjson"}, text)
	if i < 0 {
		return 0, andon.Errorf(andon.Invalid, "format %s is none of csv, json, ndjson",
			ingest.Clip(text))
	}
	return Format(i), nil
}

// Options say how to read a file.
type Options struct {
	Format   Format
	Comma    rune // between the cells of a CSV file; 0 is ','
	Comments bool // lines before the header of a CSV file that begin with '#' are skipped
	NoHeader bool // a CSV file begins with its first row; its columns are 1, 2, 3 and so on
}

// maxRow is how long a row may be, in bytes. It bounds what one stray quote can swallow.
const maxRow = 1 << 20

// Table is one file being read.
type Table struct {
	source source
	sample []result // rows read ahead, to learn the columns
	ended  bool     // those are all
	digits digits   // of the times

	guesses []Guess
}

type source interface {
	// next returns the next row, or io.EOF after the last. A RowError is about one row only; after
	// any other error nothing more can be read.
	next() (Row, error)
	columns(sample []result) *columns
}

type result struct {
	row Row
	err error
}

// New begins to read plain text. It learns the columns: of CSV from the header, of JSON from the
// first rows.
func New(plain *bufio.Reader, o Options) (t *Table, err error) {
	t = &Table{digits: digits{counts: map[int]int{}}}
	switch o.Format {
	case CSV:
		t.source, err = newCSV(plain, o)
	case JSON:
		t.source = newJSON(plain)
		err = t.readAhead()
	case NDJSON:
		if t.source, err = newObjectLines(plain); err == nil {
			err = t.readAhead()
		}
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// broken is the error of a file that can't be read on. That one is cut off is known of compressed
// ones alone.
func broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return andon.Errorf(andon.Invalid, "the compressed file is cut off: it ends too early")
	}
	return andon.Errorf(andon.Invalid, "read the file: %w", err)
}

// readAhead reads the first rows, to learn what columns there are.
func (t *Table) readAhead() error {
	const rows = 100
	for size := 0; len(t.sample) < rows && size < maxRow; {
		row, err := t.source.next()
		if err == io.EOF {
			t.ended = true
			break
		}
		if fatal(err) && len(t.sample) == 0 {
			return err
		}
		t.sample = append(t.sample, result{row, err})
		if fatal(err) {
			break
		}
		size += len(row.object)
	}
	return nil
}

// IsOfRow reports whether an error is about one row, and others follow.
func IsOfRow(err error) bool {
	_, one := errors.AsType[*RowError](err)
	return one
}

// fatal reports whether nothing can be read after an error.
func fatal(err error) bool { return err != nil && !IsOfRow(err) }

// Columns lists the names of the columns: of CSV the header, of JSON all names in its first rows,
// with those of inner objects after a dot.
func (t *Table) Columns() []string { return t.source.columns(t.sample).names }

// Guesses returns the columns that were taken because of their names.
func (t *Table) Guesses() []Guess { return t.guesses }

// Rows returns the rows. It can be ranged over once. An error of
// type *RowError is about one row, and the sequence continues; any other error ends it.
func (t *Table) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, r := range t.sample {
			if !yield(r.row, r.err) || fatal(r.err) {
				return
			}
		}
		for !t.ended {
			row, err := t.source.next()
			if err == io.EOF || !yield(row, err) || fatal(err) {
				return
			}
		}
	}
}

// RowError says what is wrong with one row.
type RowError struct {
	Index  int    // rows are counted from 0, bad ones too, the header not
	Line   int    // lines are counted from 1, the header too; 0 in a JSON array
	Column string // empty where it is the row as a whole
	Reason string
}

// Error returns the place and the reason.
func (e *RowError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("entry %d: %s", e.Index, e.text())
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.text())
}

// Rejection accounts for the row.
func (e *RowError) Rejection() andon.Rejection {
	return andon.Rejection{Index: e.Index, Line: e.Line, Error: e.text()}
}

func (e *RowError) text() string {
	if e.Column == "" {
		return e.Reason
	}
	return fmt.Sprintf("column %s: %s", shown(e.Column), e.Reason)
}

// bad makes an error about one row, whose place is not known yet.
func bad(reason string, args ...any) error {
	return &RowError{Reason: fmt.Sprintf(reason, args...)}
}

// atRow puts an error, if it is about one row, at the place of that row.
func atRow(row Row, err error) error {
	if one, ok := errors.AsType[*RowError](err); ok {
		one.Index, one.Line = row.Index, row.Line
	}
	return err
}
