package jsonfeed

import (
	"errors"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// fieldReader reads the value of one field. bit distinguishes the fields of an entry; 0 is a field
// that it does not know.
type fieldReader interface {
	field(s *jsonscan.Scanner, name string) (bit uint8, f *jsonscan.Fault)
}

func fields(s *jsonscan.Scanner, r fieldReader) *jsonscan.Fault {
	if s.Peek() != '{' {
		return s.Want("an object")
	}
	s.At++
	seen := uint8(0)
	for first := true; ; first = false {
		name, more, f := s.Member(first)
		if f != nil || !more {
			return f
		}
		at := s.NameAt
		bit, f := r.field(s, name)
		if f != nil {
			return f
		}
		if seen&bit != 0 {
			return twice(at, name, name)
		}
		seen |= bit
	}
}

func twice(at int, field, name string) *jsonscan.Fault {
	reason := "the field " + ingest.Clip(name) + " occurs twice"
	return &jsonscan.Fault{At: at, Field: field, Reason: reason}
}

// text reads a string; null is absent.
func text[S ~string](s *jsonscan.Scanner, field string, into *S) *jsonscan.Fault {
	if s.Peek() != '"' {
		if s.Word("null") {
			return nil
		}
		return s.WantField(field, "a string")
	}
	value, f := s.String()
	*into = S(value)
	return inField(field, f)
}

func inField(field string, f *jsonscan.Fault) *jsonscan.Fault {
	if f != nil {
		f.Field, f.Reason = field, field+": "+f.Reason
	}
	return f
}

// instant reads a time: text, or a number in the unit; null and the empty text are absent.
func instant(s *jsonscan.Scanner, unit andon.Precision, into *andon.Time) *jsonscan.Fault {
	at, c := s.At, s.Peek()
	var err error
	switch {
	case c == '"':
		value, f := s.String()
		if f != nil || value == "" {
			return inField("time", f)
		}
		*into, err = andon.ParseTime(value)
	case c == '-' || c-'0' <= 9:
		number, f := s.Number()
		if f != nil {
			return inField("time", f)
		}
		*into, err = andon.ParseEpoch(number, unit)
	case !s.Word("null"):
		return s.WantField("time", "a string or a number")
	}
	if err != nil {
		return &jsonscan.Fault{At: at, Field: "time", Reason: err.Error()}
	}
	return nil
}

// invalid says what Validate found wrong with an entry. The entry's index or line is its place.
func invalid(err error) *jsonscan.Fault {
	if err == nil {
		return nil
	}
	f := &jsonscan.Fault{At: jsonscan.NoPlace, Reason: err.Error()}
	if e, ok := errors.AsType[*andon.Error](err); ok && len(e.Fields) > 0 {
		f.Field = strings.TrimPrefix(e.Fields[0].Location, "body.")
	}
	return f
}
