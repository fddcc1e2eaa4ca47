// Package jsonscan reads JSON text (RFC 8259) strictly and without allocating. The caller knows
// which fields to expect and reads value by value. The JSON formats are built on it.
//
// It also refuses text that is valid JSON but can't be stored: invalid UTF-8, an escape that is
// half of a surrogate pair, nesting deeper than andon.MaxJSONDepth. It knows no event, no reading
// and no field names.
package jsonscan

import (
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
)

// Scanner has a place in a text and reads what follows.
type Scanner struct {
	Text   string
	At     int // the place, in bytes from the start of Text
	NameAt int // where the name that Member returned last begins
	// Tolerant accepts what only the content makes wrong: invalid UTF-8, half surrogate pairs,
	// depth, and the numbers that JSON lacks but many programs write: NaN, Infinity, -Infinity. So
	// the end of a value that is refused already can be found, if it has one.
	Tolerant bool
}

// Fault is one thing that is wrong, and where.
type Fault struct {
	At     int    // in bytes from the start of the text; NoPlace where the text as such is well
	Field  string // the field at fault; empty where none is, or the scanner can't know it
	Reason string
}

// NoPlace is where a fault is that no byte of the text shows, such as a field that is missing.
const NoPlace = -1

// Error returns the place, if there is one, and the reason.
func (f *Fault) Error() string {
	if f.At == NoPlace {
		return f.Reason
	}
	return fmt.Sprintf("at byte %d: %s", f.At, f.Reason)
}

// Fault makes a fault at a place.
func (s *Scanner) Fault(at int, format string, args ...any) *Fault {
	return &Fault{At: at, Reason: fmt.Sprintf(format, args...)}
}

// Want makes the fault that something else is here than was expected.
func (s *Scanner) Want(what string) *Fault {
	return s.Fault(s.At, "want %s, found %s", what, s.found())
}

// WantField is Want for the value of a field.
func (s *Scanner) WantField(field, what string) *Fault {
	f := s.Fault(s.At, "%s: want %s, found %s", field, what, s.found())
	f.Field = field
	return f
}

// found names what is here: the type where a value begins, else the character.
func (s *Scanner) found() string {
	rest := s.Text[s.At:]
	if rest == "" {
		return "the end"
	}
	switch c := rest[0]; {
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case strings.HasPrefix(rest, "-Infinity"):
		return "-Infinity"
	case c == '-' || isDigit(c):
		return "a number"
	case isLetter(c):
		n := 1
		for n < min(len(rest), 32) && isLetter(rest[n]) {
			n++
		}
		return rest[:n]
	}
	if strings.HasPrefix(rest, "\x1f\x8b") {
		return "gzip: say so with Content-Encoding: gzip"
	}
	r, n := utf8.DecodeRuneInString(rest)
	if r == utf8.RuneError && n == 1 {
		return fmt.Sprintf("the byte %#02x", rest[0])
	}
	return fmt.Sprintf("%q", r)
}

// Peek returns the next byte, 0 at the end.
func (s *Scanner) Peek() byte {
	if s.At < len(s.Text) {
		return s.Text[s.At]
	}
	return 0
}

// Next skips white space and returns the byte after it, 0 at the end.
func (s *Scanner) Next() byte {
	for s.At < len(s.Text) {
		c := s.Text[s.At]
		if c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
		s.At++
	}
	return 0
}

// End skips white space. What follows, if anything, is a fault.
func (s *Scanner) End() *Fault {
	if s.Next(); s.At < len(s.Text) {
		return s.Want("the end")
	}
	return nil
}

// Whole reports why a text is not one value of JSON with nothing around it but white space; nil
// where it is.
func Whole(text string) *Fault {
	s := Scanner{Text: text}
	if f := s.Skip(0); f != nil {
		return f
	}
	return s.End()
}

// Object is Whole for a text that is to be an object.
func Object(text string) *Fault {
	if s := (Scanner{Text: text}); s.Next() != '{' {
		return s.Want("an object")
	}
	return Whole(text)
}

// Member skips what comes before the value of an object's next member, and returns its name. more
// is false after the last member, with the closing brace skipped. first says that the scanner is
// after the opening brace.
func (s *Scanner) Member(first bool) (name string, more bool, f *Fault) {
	if more, f = s.follow(first, '}'); !more || f != nil {
		return "", false, f
	}
	if s.Peek() != '"' {
		return "", false, s.Want("a name in double quotes")
	}
	s.NameAt = s.At
	if name, f = s.String(); f != nil {
		return "", false, f
	}
	if s.Next() != ':' {
		return "", false, s.Want("':' after the name " + ingest.Clip(name))
	}
	s.At++
	s.Next()
	return name, true, nil
}

// Element skips what comes before an array's next element, as Member does in an object.
func (s *Scanner) Element(first bool) (more bool, f *Fault) { return s.follow(first, ']') }

// follow skips the comma before what follows in an object or array, or its end.
func (s *Scanner) follow(first bool, end byte) (more bool, f *Fault) {
	c := s.Next()
	if c == end {
		s.At++
		return false, nil
	}
	if first {
		return true, nil
	}
	if c != ',' {
		return false, s.Want(fmt.Sprintf("',' or %q", end))
	}
	comma := s.At
	s.At++
	if s.Next() == end {
		return false, s.Fault(comma, "there is nothing between ',' and %q", end)
	}
	return true, nil
}

// Members returns the names and values of an object that is known to be JSON, and nothing of
// anything else.
func Members(object string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		s := Scanner{Text: object, Tolerant: true}
		if s.Next() != '{' {
			return
		}
		s.At++
		for first := true; ; first = false {
			name, more, f := s.Member(first)
			if f != nil || !more {
				return
			}
			// What is Tolerant leaves escapes as they are.
			if plain, lone := unescape(name); lone < 0 {
				name = plain
			}
			from := s.At
			if s.Skip(0) != nil || !yield(name, s.Text[from:s.At]) {
				return
			}
		}
	}
}

// Elements returns the elements of an array that is known to be JSON, and nothing of anything else.
func Elements(array string) iter.Seq[string] {
	return func(yield func(string) bool) {
		s := Scanner{Text: array, Tolerant: true}
		if s.Next() != '[' {
			return
		}
		s.At++
		for first := true; ; first = false {
			more, f := s.Element(first)
			from := s.At
			if f != nil || !more || s.Skip(0) != nil || !yield(s.Text[from:s.At]) {
				return
			}
		}
	}
}

// Skip skips one value; within is the number of objects and arrays around it that count for its
// depth. The brackets that are open are kept in a list, so no input can exhaust the stack.
func (s *Scanner) Skip(within int) *Fault {
	open := make([]byte, 0, andon.MaxJSONDepth) // on the stack
	for {
		c := s.Next()
		first := c == '{' || c == '['
		if first {
			if within+len(open) >= andon.MaxJSONDepth && !s.Tolerant {
				return s.Fault(s.At, "nested deeper than %d", andon.MaxJSONDepth)
			}
			s.At++
			open = append(open, c)
		} else if f := s.scalar(c); f != nil {
			return f
		}
		for more := false; !more; first = false {
			if len(open) == 0 {
				return nil
			}
			var f *Fault
			if more, f = s.inside(open[len(open)-1], first); f != nil {
				return f
			}
			if !more {
				open = open[:len(open)-1]
			}
		}
	}
}

// inside goes to the next value of the object or array that the bracket opened.
func (s *Scanner) inside(bracket byte, first bool) (more bool, f *Fault) {
	if bracket == '[' {
		return s.Element(first)
	}
	_, more, f = s.Member(first)
	return more, f
}

func (s *Scanner) scalar(c byte) (f *Fault) {
	switch {
	case c == '"':
		_, f = s.String()
	case s.notFinite():
	case c == '-' || isDigit(c):
		_, f = s.Number()
	case c == '+' || c == '.':
		return s.Fault(s.At, "a number begins with a digit or '-', not %q", c)
	case !s.Word("true") && !s.Word("false") && !s.Word("null"):
		return s.Want("a value")
	}
	return f
}

// Word skips true, false or null if it is next.
func (s *Scanner) Word(word string) bool {
	if !strings.HasPrefix(s.Text[s.At:], word) {
		return false
	}
	s.At += len(word)
	return true
}

// notFinite skips NaN, Infinity or -Infinity if it is next and Tolerant is set.
func (s *Scanner) notFinite() bool {
	if c := s.Peek(); !s.Tolerant || c != 'N' && c != 'I' && c != '-' {
		return false
	}
	return s.Word("NaN") || s.Word("Infinity") || s.Word("-Infinity")
}

// Number reads a number, as text; the scanner is at its first character.
func (s *Scanner) Number() (string, *Fault) {
	start := s.At
	if s.Peek() == '-' {
		s.At++
	}
	if zero := s.At; !s.digits() {
		if strings.HasPrefix(s.Text[s.At:], "Infinity") {
			s.At = start
			return "", s.Want("a value")
		}
		return "", s.Fault(s.At, "want a digit after '-', found %s", s.found())
	} else if s.Text[zero] == '0' && s.At > zero+1 {
		return "", s.Fault(zero, "a number has no 0 before other digits")
	}
	if s.Peek() == '.' {
		s.At++
		if !s.digits() {
			return "", s.Want("a digit after the point")
		}
	}
	if s.Peek()|0x20 == 'e' {
		s.At++
		if c := s.Peek(); c == '+' || c == '-' {
			s.At++
		}
		if !s.digits() {
			return "", s.Want("a digit of the exponent")
		}
	}
	return s.Text[start:s.At], nil
}

func (s *Scanner) digits() (some bool) {
	start := s.At
	for s.At < len(s.Text) && isDigit(s.Text[s.At]) {
		s.At++
	}
	return s.At > start
}

func isDigit(c byte) bool  { return c-'0' <= 9 }
func isLetter(c byte) bool { return c|0x20-'a' < 26 }
