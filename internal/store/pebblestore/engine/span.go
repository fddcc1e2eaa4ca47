package engine

import (
	"bytes"

	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Span is the keys from one to another, which is not in it.
type Span struct{ From, To layout.Key }

// Holds reports whether part is within s.
func (s Span) Holds(part Span) bool {
	return bytes.Compare(s.From, part.From) <= 0 && bytes.Compare(part.To, s.To) <= 0
}
