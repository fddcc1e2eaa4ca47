package table

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// objectLines reads an object from each line; lines of white space are skipped.
type objectLines struct {
	lines lines
	index int // of the next row
}

// newObjectLines refuses an array: its rows may go over many lines, and none of them is an object.
func newObjectLines(r *bufio.Reader) (*objectLines, error) {
	if opening(r) == '[' {
		return nil, andon.Errorf(andon.Invalid,
			"the file is an array; that is the format json, ndjson is an object in each line")
	}
	return &objectLines{lines: lines{r: r}}, nil
}

func (s *objectLines) columns(sample []result) *columns { return sampled(sample) }

func (s *objectLines) next() (Row, error) {
	for {
		l := s.lines.next()
		if l.err == io.EOF {
			return Row{}, io.EOF
		}
		space := jsonscan.Scanner{Text: l.text}
		if space.Next(); l.err == nil && space.At == len(l.text) {
			continue
		}
		row := Row{Index: s.index, Line: s.lines.n, object: l.text[space.At:]}
		s.index++
		if l.err != nil {
			return row, atRow(row, l.err)
		}
		return row, atRow(row, checkObject(l.text))
	}
}

// newJSON reads an array, or objects one after another. Where the first of them is a line, each is
// taken to be one: then the rows have lines, and one that is wrong does not cost the others.
func newJSON(r *bufio.Reader) source {
	if opening(r) != '{' {
		return &array{decoder: json.NewDecoder(r)}
	}
	ls := lines{r: r}
	first := ls.next()
	for first.err == nil && strings.Trim(first.text, " \t\r\n") == "" {
		first = ls.next()
	}
	if first.err != nil || checkObject(first.text) == nil {
		ls.back([]line{first})
		return &objectLines{lines: ls}
	}
	whole := io.MultiReader(strings.NewReader(first.text+"\n"), r)
	return &array{decoder: json.NewDecoder(whole), begun: true, sequence: true}
}

// opening returns the first byte that is no white space, as far as the file has been read; 0 where
// there is none.
func opening(r *bufio.Reader) byte {
	if _, err := r.Peek(1); err != nil {
		return 0
	}
	head, _ := r.Peek(r.Buffered())
	if head = bytes.TrimLeft(head, " \t\r\n"); len(head) == 0 {
		return 0
	}
	return head[0]
}

// array reads the objects of one array. It keeps one element at a time.
type array struct {
	decoder  *json.Decoder
	index    int // of the next row
	begun    bool
	sequence bool // it is no array: objects follow each other
}

func (s *array) columns(sample []result) *columns { return sampled(sample) }

func (s *array) next() (Row, error) {
	if !s.begun {
		if err := s.begin(); err != nil {
			return Row{}, err
		}
	}
	if !s.sequence && !s.decoder.More() {
		return Row{}, s.end()
	}
	var element json.RawMessage
	err := s.decoder.Decode(&element)
	if s.sequence && err == io.EOF {
		return Row{}, io.EOF
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return Row{}, andon.Errorf(andon.Invalid, "the file ends within entry %d", s.index)
	}
	if err != nil {
		return Row{}, s.broken("entry %d: %w; nothing after it can be read", s.index, err)
	}
	row := Row{Index: s.index, object: string(element)}
	s.index++
	return row, atRow(row, checkObject(row.object))
}

func (s *array) begin() error {
	open, err := s.decoder.Token()
	if err == io.EOF {
		return andon.Errorf(andon.Invalid, "the file is empty")
	}
	if err != nil {
		return broken(err)
	}
	if open != json.Delim('[') {
		return s.broken("the file does not begin with an array or an object")
	}
	s.begun = true
	return nil
}

// end returns io.EOF where the array is closed and nothing follows.
func (s *array) end() error {
	if _, err := s.decoder.Token(); err != nil {
		return s.broken("the array is not closed after %d entries", s.index)
	}
	if _, err := s.decoder.Token(); err != io.EOF {
		return s.broken("something follows the array")
	}
	return io.EOF
}

func (s *array) broken(format string, args ...any) error {
	args = append(args, s.decoder.InputOffset())
	return andon.Errorf(andon.Invalid, format+", at byte %d", args...)
}

// checkObject reports what is wrong with the text of a row: it is one object, strictly, and no name
// occurs twice in it, since which of the two is meant can't be known.
func checkObject(text string) error {
	s := jsonscan.Scanner{Text: text}
	if s.Next() != '{' {
		return bad("%s", s.Want("an object"))
	}
	object := s.At
	f := s.Skip(0)
	if f == nil {
		f = s.End()
	}
	if f != nil {
		return bad("%s", f)
	}
	seen := map[string]bool{}
	for name := range jsonscan.Members(text[object:]) {
		if seen[name] {
			return bad("the field %s occurs twice", ingest.Clip(name))
		}
		seen[name] = true
	}
	return nil
}

// sampled lists the names in the first rows, those of inner objects after a dot.
func sampled(sample []result) *columns {
	c := &columns{places: map[string]int{}, sample: true}
	for _, r := range sample {
		if r.err == nil {
			c.addMembers("", r.row.object)
		}
	}
	return c
}

func (c *columns) addMembers(prefix, object string) {
	for name, value := range jsonscan.Members(object) {
		c.add(prefix + name)
		if value[0] == '{' {
			c.addMembers(prefix+name+".", value)
		}
	}
}
