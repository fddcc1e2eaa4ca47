package table

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
)

// csvRows reads CSV as encoding/csv does: RFC 4180, empty lines skipped, strict about quotes.
// Import needs three things that encoding/csv does not do: a row that is wrong costs its first line
// only, a quote that is never closed swallows no more than maxRow, and a carriage return within a
// cell stays where lines end in "\n" alone.
type csvRows struct {
	lines  lines
	comma  string
	header []string
	crlf   bool // lines end in "\r\n", so within a cell, too, that is a line break and no more
	index  int  // of the next row
}

func newCSV(r *bufio.Reader, o Options) (*csvRows, error) {
	o.Comma = cmp.Or(o.Comma, ',')
	if strings.ContainsRune("\"\r\n\uFFFD", o.Comma) {
		return nil, andon.Errorf(andon.Invalid, "%q can't be between cells", o.Comma)
	}
	s := &csvRows{lines: lines{r: r}, comma: string(o.Comma)}
	first, err := s.first()
	for err == nil && o.Comments && first[0] == '#' {
		first, err = s.first()
	}
	if err == io.EOF {
		return nil, andon.Errorf(andon.Invalid, "the file is empty: CSV begins with a header")
	}
	if err != nil {
		return nil, err
	}
	line := s.lines.n
	first, s.crlf = strings.CutSuffix(first, "\r")
	cells, read, err := s.record(first)
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "the header can't be read: line %d: %w", line, err)
	}
	if o.NoHeader {
		for i := range cells {
			s.header = append(s.header, strconv.Itoa(i+1))
		}
		s.lines.back(read)
		return s, nil
	}
	for _, name := range cells {
		if name = strings.TrimSpace(name); name != "" && slices.Contains(s.header, name) {
			return nil, andon.Errorf(andon.Invalid, "the header has column %s twice",
				ingest.Clip(name))
		}
		s.header = append(s.header, name)
	}
	return s, nil
}

func (s *csvRows) line() (text string, err error) {
	if text, err = s.lines.next(); s.crlf {
		text = strings.TrimSuffix(text, "\r")
	}
	return text, err
}

// first returns the line that the next row begins with. Empty ones before it are passed over.
func (s *csvRows) first() (text string, err error) {
	for err == nil && (text == "" || text == "\r") {
		text, err = s.line()
	}
	return text, err
}

// Next implements rows.
func (s *csvRows) Next() (Row, error) {
	text, err := s.first()
	if err != nil {
		return Row{}, err
	}
	row := Row{Index: s.index, Line: s.lines.n, header: s.header}
	s.index++
	row.cells, _, row.Bad = s.record(text)
	if row.Bad == nil && len(row.cells) != len(s.header) {
		row.Bad = fmt.Errorf("the row has %d cells, not %d", len(row.cells), len(s.header))
	}
	return row, nil
}

// record splits the row that begins with a line into its cells. Of a row that is wrong only that
// line was read then.
func (s *csvRows) record(first string) (cells []string, read []string, err error) {
	text, read := s.whole(first)
	if err = checkLength(first); err == nil {
		cells, err = split(text, s.comma)
	}
	for i, cell := range cells {
		if err == nil && !utf8.ValidString(cell) { // no store could keep it
			err = fmt.Errorf("cell %d is not valid UTF-8: save the file as UTF-8", i+1)
		}
	}
	if err != nil {
		s.lines.back(read[1:])
	}
	return cells, read, err
}

// whole returns the text of a row and its lines: up to the line that has the last of an even number
// of quotes, or as far as a row can go.
func (s *csvRows) whole(first string) (text string, read []string) {
	var b strings.Builder
	quotes := 0
	for l, err := first, error(nil); err == nil; l, err = s.line() {
		read = append(read, l)
		b.WriteString(l)
		if quotes += strings.Count(l, `"`); quotes%2 == 0 || b.Len() > maxRow {
			break
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\r"), read
}

func split(text, comma string) (cells []string, err error) {
	cells = make([]string, 0, strings.Count(text, comma)+1)
	for more := true; more; {
		var cell string
		if quoted, ok := strings.CutPrefix(text, `"`); ok {
			if cell, text, ok = unquote(quoted); !ok {
				return nil, errors.New("a quote is not closed")
			}
			if text, more = strings.CutPrefix(text, comma); !more && text != "" {
				return nil, fmt.Errorf("cell %d goes on after its closing quote", len(cells)+1)
			}
		} else if cell, text, more = strings.Cut(text, comma); strings.Contains(cell, `"`) {
			return nil, fmt.Errorf("cell %d has a quote but does not begin with one",
				len(cells)+1)
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

// unquote returns a quoted cell, whose opening quote was passed, and what follows its closing one.
// It is false where there is none.
func unquote(text string) (cell, rest string, ok bool) {
	for end := 0; ; end++ {
		i := strings.IndexByte(text[end:], '"')
		if i < 0 {
			return "", "", false
		}
		end += i + 1
		if !strings.HasPrefix(text[end:], `"`) {
			return strings.ReplaceAll(text[:end-1], `""`, `"`), text[end:], true
		}
	}
}
