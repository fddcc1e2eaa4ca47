package table

import (
	"encoding/json"
	"io"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// objectLines reads an object from each line; lines of white space do not count.
type objectLines struct {
	lines lines
	index int // of the next row
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
			return row, at(row, l.err)
		}
		return row, at(row, checkObject(l.text))
	}
}

// array reads the objects of one array. It keeps one element at a time.
type array struct {
	decoder *json.Decoder
	element json.RawMessage
	index   int // of the next row
	begun   bool
}

func newArray(r io.Reader) *array { return &array{decoder: json.NewDecoder(r)} }

func (s *array) columns(sample []result) *columns { return sampled(sample) }

func (s *array) next() (Row, error) {
	if !s.begun {
		if err := s.begin(); err != nil {
			return Row{}, err
		}
	}
	if !s.decoder.More() {
		return Row{}, s.end()
	}
	if err := s.decoder.Decode(&s.element); err != nil {
		return Row{}, s.broken("entry %d: %w; nothing behind it can be read", s.index, err)
	}
	row := Row{Index: s.index, object: string(s.element)}
	s.index++
	return row, at(row, checkObject(row.object))
}

func (s *array) begin() error {
	open, err := s.decoder.Token()
	if err == io.EOF {
		return andon.Errorf(andon.Invalid, "the file is empty")
	}
	if err != nil {
		return broken(err)
	}
	if open == json.Delim('{') {
		return s.broken("the file is no array; objects line by line are the format ndjson")
	}
	if open != json.Delim('[') {
		return s.broken("the file does not begin with an array")
	}
	s.begun = true
	return nil
}

// end returns io.EOF where the array is closed and nothing follows.
func (s *array) end() error {
	if _, err := s.decoder.Token(); err != nil {
		return s.broken("the array is not closed behind %d entries", s.index)
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
// stands twice in it, since which of the two is meant can't be known.
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
	for name := range members(text[object:]) {
		if seen[name] {
			return bad("the field %s stands twice", ingest.Clip(name))
		}
		seen[name] = true
	}
	return nil
}

// sampled lists the names in the first rows, those in nested objects behind a dot.
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
	for name, value := range members(object) {
		c.add(prefix + name)
		if value[0] == '{' {
			c.addMembers(prefix+name+".", value)
		}
	}
}
