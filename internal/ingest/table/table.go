// Package table reads rows of files for import: CSV, JSON, or objects line by line; plain, gzip or
// zstd, of any size in constant memory. On top of the rows a Mapping says which columns make an
// event, a reading or an assignment.
//
// A row that is wrong comes with the reason, and the rest goes on; only what makes the rest
// unreadable ends a file. The package knows no server and no tenant. Its messages name the flags of
// andon import that fill in Options and Mapping.
package table

import (
	"bufio"
	"errors"
	"io"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
)

// Format is how a file is divided into rows.
type Format uint8

// The formats.
const (
	CSV  Format = iota // RFC 4180 with a header
	JSON               // an array of objects, or objects one after another, as NDJSON has them
)

// ParseFormat reads csv, json or ndjson.
func ParseFormat(text string) (Format, error) {
	switch text {
	case "csv":
		return CSV, nil
	case "json", "ndjson":
		return JSON, nil
	}
	return 0, andon.Errorf(andon.Invalid, "format %s is none of csv, json, ndjson",
		ingest.Clip(text))
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
	// Columns are the names of the columns: of CSV the header, of JSON all names in the first
	// object, with those of inner objects after a dot.
	Columns []string
	// Guesses says which columns were taken because of their names: "device from DeviceID".
	Guesses []string
	// Overlaps is how many rows with an end began while another one of their device went on.
	Overlaps int

	rows    rows
	first   *Row // of JSON, until it is returned: it was read to learn the columns
	isEmpty bool
	header  bool // Columns are all that there are
}

type rows interface {
	// Next returns the next row, or io.EOF after the last. After an error nothing more can be read.
	Next() (Row, error)
}

// Item is what a row became, and its place.
type Item[T any] struct {
	Value T
	Index int   // rows are counted from 0, bad ones too, the header not
	Line  int   // where it begins; lines are counted from 1; 0 in a JSON array
	Bad   error // why there is no value; nil where there is one
}

// Items are what the rows of a file became, in its order. An error ends the sequence.
type Items[T any] = iter.Seq2[Item[T], error]

// New begins to read plain text. It learns the columns: of CSV from the header, of JSON from the
// first object.
func New(plain *bufio.Reader, o Options) (*Table, error) {
	if o.Format == CSV {
		rows, err := newCSV(plain, o)
		if err != nil {
			return nil, err
		}
		return &Table{rows: rows, Columns: rows.header, header: true}, nil
	}
	t := &Table{rows: newJSON(plain)}
	first, err := t.rows.Next()
	switch {
	case err == io.EOF:
		t.isEmpty = true
	case err != nil:
		return nil, err
	default:
		t.first, t.Columns = &first, namesIn(first.object, "") // none of a row that is bad
	}
	return t, nil
}

// Next returns the next row, or io.EOF after the last. After an error nothing more can be read.
func (t *Table) Next() (row Row, err error) {
	switch {
	case t.isEmpty:
		return row, io.EOF
	case t.first != nil:
		row, t.first = *t.first, nil
		return row, nil
	}
	return t.rows.Next()
}

// ItemsOf returns what convert makes of the rows of a table. Its error is about the row.
func ItemsOf[T any](t *Table, convert func(*Row) (T, error)) Items[T] {
	return func(yield func(Item[T], error) bool) {
		for {
			row, err := t.Next()
			if err == io.EOF {
				return
			}
			item := Item[T]{Index: row.Index, Line: row.Line, Bad: row.Bad}
			if err == nil && row.Bad == nil {
				item.Value, item.Bad = convert(&row)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// broken is the error of a file that can't be read on. That one is cut off is known of compressed
// ones alone.
func broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return andon.Errorf(andon.Invalid, "the compressed file is cut off: it ends too early")
	}
	return andon.Errorf(andon.Invalid, "read the file: %w", err)
}
