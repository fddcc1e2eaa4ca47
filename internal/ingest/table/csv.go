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

// csvSource reads CSV as encoding/csv does: RFC 4180, empty lines passed over, strict about quotes.
// Import needs two things beyond it: a row that is wrong costs its first line only, and a quote
// that is never closed swallows no more than maxRow.
type csvSource struct {
	lines  lines
	split  splitter
	header *columns
	first  string // line of the header
	begun  []line // the lines of the header, until it is known whether it is one
	begins string // what the file begins with, as messages call it
	crlf   bool   // lines end in "\r\n", so within a cell, too, that is a line break and no more
	index  int    // of the next row
}

func newCSV(r *bufio.Reader, o Options) (*csvSource, error) {
	o.Comma = cmp.Or(o.Comma, ',')
	if strings.ContainsRune("\"\r\n\uFFFD", o.Comma) {
		return nil, andon.Errorf(andon.Invalid, "%q can't stand between cells", o.Comma)
	}
	s := &csvSource{lines: lines{r: r}, split: splitter{comma: string(o.Comma)}}
	names, err := s.readHeader(o.Comments)
	if err != nil {
		return nil, err
	}
	s.begins = "header"
	if o.NoHeader {
		s.begins = "first row"
		for i := range names {
			names[i] = strconv.Itoa(i + 1)
		}
		s.lines.back(s.begun)
	}
	s.begun = nil
	s.header, err = newHeader(names)
	return s, err
}

// readHeader returns the cells of the first line that is neither empty nor a comment.
func (s *csvSource) readHeader(comments bool) ([]string, error) {
	for {
		l := s.lines.next()
		if l.err == io.EOF && s.lines.n == 0 {
			return nil, andon.Errorf(andon.Invalid, "the file is empty: CSV begins with a header")
		}
		if l.err == io.EOF {
			return nil, andon.Errorf(andon.Invalid, "the file has no header")
		}
		if l.err == nil && (l.text == "" || comments && l.text[0] == '#') {
			continue
		}
		s.first, s.crlf = l.text, l.cr
		s.begun = []line{l}
		cells, err := s.record(l)
		if err == nil || fatal(err) {
			return cells, err
		}
		err = at(Row{Line: s.lines.n}, err)
		return nil, s.misread(andon.Errorf(andon.Invalid, "the header can't be read: %w", err))
	}
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
	cells, err := s.record(l)
	if err == nil && len(cells) != len(s.header.names) {
		err = bad("the row has %d cells, the %s %d", len(cells), s.begins, len(s.header.names))
	}
	row.cells = cells
	return row, at(row, err)
}

// record returns the cells of the row that begins with a line. After an error about that row,
// reading goes on in the line behind its first.
func (s *csvSource) record(first line) ([]string, error) {
	s.split.reset()
	var more []line
	size := 0
	for l := first; ; {
		if l.err != nil {
			return nil, s.giveUp(more, l.err)
		}
		open, err := s.split.feed(l.text)
		if err != nil {
			return nil, s.giveUp(more, err)
		}
		if !open {
			return s.split.cells, s.split.valid()
		}
		if l.cr && !s.crlf {
			s.split.keepCR()
		}
		size += len(l.text) + 1
		if l = s.lines.next(); l.err != io.EOF {
			more = append(more, l)
		}
		if s.begun != nil {
			s.begun = append(s.begun, l)
		}
		if l.err == io.EOF || size > maxRow {
			return nil, s.giveUp(more, bad("a quote is not closed"))
		}
	}
}

// giveUp returns the lines behind the first of a bad row, so that they are read as rows.
func (s *csvSource) giveUp(more []line, err error) error {
	s.lines.back(more)
	return err
}

// splitter splits the lines of one row into cells.
type splitter struct {
	comma string
	cells []string
	open  bool   // the last cell is quoted and goes on in the next line
	cell  []byte // what there is of a quoted cell
}

func (p *splitter) reset() { p.cells, p.open = p.cells[:0], false }

// feed takes the next line of the row; open says that the row goes on in one more.
func (p *splitter) feed(text string) (open bool, err error) {
	for rest, more := text, true; more; {
		var cell string
		if p.open || strings.HasPrefix(rest, `"`) {
			if cell, rest, more, err = p.quoted(rest); p.open || err != nil {
				return p.open, err
			}
		} else {
			cell, rest, more = strings.Cut(rest, p.comma)
			if strings.Contains(cell, `"`) {
				return false, bad("cell %d has a quote but does not begin with one", len(p.cells)+1)
			}
		}
		p.cells = append(p.cells, cell)
	}
	return false, nil
}

// quoted reads a quoted cell, or as much of it as stands in this line; more says that another cell
// follows in rest.
func (p *splitter) quoted(text string) (cell, rest string, more bool, err error) {
	if !p.open {
		p.cell, p.open, text = p.cell[:0], true, text[1:]
	}
	for {
		before, after, found := strings.Cut(text, `"`)
		p.cell = append(p.cell, before...)
		if !found {
			p.cell = append(p.cell, '\n')
			return "", "", false, nil
		}
		if !strings.HasPrefix(after, `"`) {
			rest = after
			break
		}
		p.cell, text = append(p.cell, '"'), after[1:]
	}
	p.open = false
	if rest, more = strings.CutPrefix(rest, p.comma); !more && rest != "" {
		err = bad("cell %d goes on behind its closing quote", len(p.cells)+1)
	}
	return string(p.cell), rest, more, err
}

// keepCR puts a carriage return before the line break that the open cell ends in: where lines end
// in "\n" alone, it is part of the cell.
func (p *splitter) keepCR() { p.cell = append(p.cell[:len(p.cell)-1], "\r\n"...) }

// valid reports a row that no store could keep.
func (p *splitter) valid() error {
	for i, cell := range p.cells {
		if !utf8.ValidString(cell) {
			return bad("cell %d is not valid UTF-8: save the file as UTF-8", i+1)
		}
	}
	return nil
}
