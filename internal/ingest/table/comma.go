package table

import (
	"fmt"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
)

// CommaError says that another character than Options.Comma seems to be between the cells.
type CommaError struct {
	Comma  rune   // what seems to be between them
	header string // line of it
}

// Error returns what is seen in the header.
func (e *CommaError) Error() string {
	return fmt.Sprintf("the header is %s: the character between its cells seems to be %q",
		ingest.Clip(e.header), e.Comma)
}

// misread says so where a header that makes an error is split at the wrong character, or is none.
func (s *csvSource) misread(err error) error {
	if strings.HasPrefix(s.first, "{") || strings.HasPrefix(s.first, "[") {
		return andon.Errorf(andon.Invalid, "the file looks like JSON, not like CSV: %w", err)
	}
	if comma := otherComma(s.first, s.comma); comma != 0 {
		return andon.Errorf(andon.Invalid, "%w", &CommaError{comma, s.first})
	}
	return err
}

// otherComma returns the character that splits a line into more cells than the one used does, and
// into the most; 0 where there is none.
func otherComma(line, used string) (comma rune) {
	most := strings.Count(line, used)
	for _, c := range ",;\t|" {
		if n := strings.Count(line, string(c)); n > most {
			comma, most = c, n
		}
	}
	return comma
}
