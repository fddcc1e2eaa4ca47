package mapping

import (
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// own reads a message of Andon's own JSON: one object, an array of objects, or objects line by
// line.
func own(m *Message) (entries []Entry, refused []andon.Rejection) {
	text := strings.TrimPrefix(string(m.Value), "\uFEFF")
	s, format := jsonscan.Scanner{Text: text, Tolerant: true}, jsonfeed.NDJSON
	if s.Next() == '[' || s.Skip(0) == nil && s.End() == nil {
		format = jsonfeed.JSON
	}
	batch, err := jsonfeed.Entries(text, format, andon.Assumed, nil)
	if err != nil {
		return nil, []andon.Rejection{{Error: err.Error()}}
	}
	for i := range batch.Items {
		item := &batch.Items[i]
		if event := &item.Value.Event; event.Device != "" {
			entries = append(entries, Entry{Index: item.Index, Line: item.Line, Event: event})
		}
		if reading := &item.Value.Reading; reading.Device != "" {
			entries = append(entries, Entry{Index: item.Index, Line: item.Line, Reading: reading})
		}
	}
	for i := range batch.Rejected {
		r := &batch.Rejected[i]
		r.Error = strings.NewReplacer("say precision=", "say in a mapping times.unit: ",
			"precision=", "times.unit: ").Replace(r.Error)
	}
	return entries, batch.Rejected
}
