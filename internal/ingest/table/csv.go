package table

import (
	"bufio"
	"cmp"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
)

// csvSource reads CSV as encoding/csv does: RFC 4180, empty lines skipped, strict about quotes.
// Import needs two things that encoding/csv does not do: a row that is wrong costs its first line
// only, and a quote that is never closed swallows no more than maxRow. It also keeps a carriage
// return within a cell where lines end in "\n" alone.
type csvSource struct {
	lines  lines
	comma  string
	header *columns
	first  string // line of the header
	begins string // what the file begins with, as messages call it
	crlf   bool   // lines end in "\r\n", so within a cell, too, that is a line break and no more
	index  int    // of the next row
}

func newCSV(r *bufio.Reader, o Options) (*csvSource, error) {
	o.Comma = cmp.Or(o.Comma, ',')
	if strings.ContainsRune("\"\r\n\uFFFD", o.Comma) {
		return nil, andon.Errorf(andon.Invalid, "%q can't be between cells", o.Comma)
	}
	s := &csvSource{lines: lines{r: r}, comma: string(o.Comma), begins: "header"}
	names, read, err := s.readHeader(o.Comments)
	if err != nil {
		return nil, err
	}
	if o.NoHeader {
		s.begins = "first row"
		for i := range names {
			names[i] = strconv.Itoa(i + 1)
		}
		s.lines.back(read)
	}
	s.header, err = newHeader(names)
	return s, err
}

// readHeader returns the cells of the first row that is neither empty nor a comment, and its lines.
func (s *csvSource) readHeader(comments bool) (cells []string, read []line, err error) {
	l := s.lines.next()
	for l.err == nil && (l.text == "" || comments && l.text[0] == '#') {
		l = s.lines.next()
	}
	switch {
	case l.err == io.EOF && s.lines.n == 0:
		return nil, nil, andon.Errorf(andon.Invalid, "the file is empty: CSV begins with a header")
	case l.err == io.EOF:
		return nil, nil, andon.Errorf(andon.Invalid, "the file has no header")
	}
	s.first, s.crlf = l.text, l.cr
	if cells, read, err = s.record(l); err != nil && !fatal(err) {
		err = atRow(Row{Line: s.lines.n}, err)
		err = s.misread(andon.Errorf(andon.Invalid, "the header can't be read: %w", err))
	}
	return cells, read, err
}

func newHeader(names []string) (*columns, error) {
	h := &columns{places: map[string]int{}}
	for i, name := range names {
		name = strings.TrimSpace(name)
		if strings.Contains(name, "\r") && !strings.Contains(name, "\n") {
			return nil, andon.Errorf(andon.Invalid, "its lines end in CR alone: save it with LF, "+
				"as tr '\\r' '\\n' does")
		}
		if _, twice := h.places[name]; twice && name != "" {
			return nil, andon.Errorf(andon.Invalid, "the header has column %s twice",
				ingest.Clip(name))
		}
		h.places[name] = i
		h.names = append(h.names, name)
	}
	return h, nil
}

func (s *csvSource) columns([]result) *columns { return s.header }

func (s *csvSource) next() (Row, error) {
	l := s.lines.next()
	for l.err == nil && l.text == "" {
		l = s.lines.next()
	}
	if l.err == io.EOF {
		return Row{}, io.EOF
	}
	row := Row{Index: s.index, Line: s.lines.n, header: s.header}
	s.index++
	cells, _, err := s.record(l)
	if err == nil && len(cells) != len(s.header.names) {
		err = bad("the row has %d cells, the %s %d", len(cells), s.begins, len(s.header.names))
	}
	row.cells = cells
	return row, atRow(row, err)
}

// record returns the cells of the row that begins with a line, and its lines. After an error about
// that row, reading goes on in the line after its first.
func (s *csvSource) record(first line) (cells []string, read []line, err error) {
	if first.err != nil {
		return nil, nil, first.err
	}
	read = []line{first}
	cells, open, err := split(first.text, s.comma)
	if open {
		var text string
		text, read = s.quoted(first)
		if cells, open, err = split(text, s.comma); open {
			err = bad("a quote is not closed")
		}
	}
	for i, cell := range cells {
		if !utf8.ValidString(cell) { // no store could keep it
			err = bad("cell %d is not valid UTF-8: save the file as UTF-8", i+1)
			break
		}
	}
	if err != nil {
		s.lines.back(read[1:])
	}
	return cells, read, err
}

// quoted returns the text of a row that has a cell of several lines, and its lines: up to the line
// that has the last of an even number of quotes, or as far as a row can go.
func (s *csvSource) quoted(first line) (text string, read []line) {
	var b strings.Builder
	quotes := 0
	for l := first; ; {
		read = append(read, l)
		b.WriteString(l.text)
		quotes += strings.Count(l.text, `"`)
		if quotes%2 == 0 || b.Len() > maxRow || l.err != nil {
			return b.String(), read
		}
		if l.cr && !s.crlf {
			b.WriteByte('\r')
		}
		b.WriteByte('\n')
		if l = s.lines.next(); l.err == io.EOF {
			return b.String(), read
		}
	}
}

// split splits the text of a row into cells; open says that it ends within a quoted one.
func split(text, comma string) (cells []string, open bool, err error) {
	cells = make([]string, 0, strings.Count(text, comma)+1)
	for more := true; more; {
		var cell string
		if quoted, ok := strings.CutPrefix(text, `"`); ok {
			if cell, text, open = unquote(quoted); open {
				return nil, true, nil
			}
			if text, more = strings.CutPrefix(text, comma); !more && text != "" {
				return nil, false, bad("cell %d goes on after its closing quote", len(cells)+1)
			}
		} else if cell, text, more = strings.Cut(text, comma); strings.Contains(cell, `"`) {
			return nil, false,
				bad("cell %d has a quote but does not begin with one", len(cells)+1)
		}
		cells = append(cells, cell)
	}
	return cells, false, nil
}

// unquote returns a quoted cell, whose opening quote was passed, and what follows its closing one.
func unquote(text string) (cell, rest string, open bool) {
	for end := 0; ; end++ {
		i := strings.IndexByte(text[end:], '"')
		if i < 0 {
			return "", "", true
		}
		end += i + 1
		if !strings.HasPrefix(text[end:], `"`) {
			return strings.ReplaceAll(text[:end-1], `""`, `"`), text[end:], false
		}
	}
}
