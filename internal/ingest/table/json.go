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

// Next implements rows.
func (s *objectLines) Next() (Row, error) {
	text, err := s.text()
	if err != nil {
		return Row{}, err
	}
	row := Row{Index: s.index, Line: s.lines.n, object: strings.TrimLeft(text, white)}
	s.index++
	if row.Bad = checkLength(text); row.Bad == nil {
		row.Bad = checkObject(text)
	}
	return row, nil
}

const white = " \t\r\n"

// text returns the next line that is not of white space.
func (s *objectLines) text() (text string, err error) {
	for err == nil && strings.Trim(text, white) == "" {
		text, err = s.lines.next()
	}
	return text, err
}

// newJSON reads an array, or objects one after another. Each of them is a line, so one that is
// wrong does not cost the others, unless the first line is a brace alone: then they go over many
// lines.
func newJSON(r *bufio.Reader) rows {
	if c := opening(r); c == '[' || c == 0 {
		return &array{decoder: json.NewDecoder(r)}
	}
	s := &objectLines{lines: lines{r: r}}
	first, err := s.text()
	if err == nil && strings.Trim(first, white) == "{" {
		whole := io.MultiReader(strings.NewReader(first+"\n"), r)
		return &array{decoder: json.NewDecoder(whole), begun: true, sequence: true}
	}
	if err == nil {
		s.lines.back([]string{first})
	}
	return s
}

// opening returns the first byte that is no white space, as far as the file has been read; 0 where
// there is none.
func opening(r *bufio.Reader) byte {
	if _, err := r.Peek(1); err != nil {
		return 0
	}
	head, _ := r.Peek(r.Buffered())
	if head = bytes.TrimLeft(head, white); len(head) == 0 {
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

// Next implements rows.
func (s *array) Next() (Row, error) {
	if !s.begun {
		switch open, err := s.decoder.Token(); {
		case err == io.EOF:
			return Row{}, andon.Errorf(andon.Invalid, "the file is empty")
		case err != nil:
			return Row{}, broken(err)
		case open != json.Delim('['):
			return Row{}, s.broken("the file does not begin with an array or an object")
		}
		s.begun = true
	}
	if !s.sequence && !s.decoder.More() {
		return Row{}, s.end()
	}
	var element json.RawMessage
	err := s.decoder.Decode(&element)
	switch {
	case s.sequence && err == io.EOF:
		return Row{}, io.EOF
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return Row{}, andon.Errorf(andon.Invalid, "the file ends within entry %d", s.index)
	case err != nil:
		return Row{}, s.broken("entry %d: %w; nothing after it can be read", s.index, err)
	}
	row := Row{Index: s.index, object: string(element)}
	s.index++
	row.Bad = checkObject(row.object)
	return row, nil
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
	if f := jsonscan.Object(text); f != nil {
		return f
	}
	seen := map[string]bool{}
	for name := range jsonscan.Members(text) {
		if seen[name] {
			return andon.AtField("body."+name[:min(len(name), 64)], "the field %s occurs twice",
				ingest.Clip(name))
		}
		seen[name] = true
	}
	return nil
}
