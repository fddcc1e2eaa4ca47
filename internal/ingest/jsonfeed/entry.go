package jsonfeed

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Entry is an event, a reading, or both; what an entry is not has no device.
type Entry struct {
	Event   andon.Event
	Reading andon.Reading
}

// Entries reads events and readings next to each other. An object that has a state is an event as
// Events reads it, one that has metrics is a reading as Readings does, and one that has both is
// both, or refused.
func Entries(
	body string, f Format, unit andon.Precision, take Take,
) (ingest.Batch[Entry], error) {
	r := &entryReader{eventReader{unit: unit}, readingReader{unit: unit}}
	return read(body, f, r.entry, take)
}

type entryReader struct {
	events   eventReader
	readings readingReader
}

func (r *entryReader) entry(
	s *jsonscan.Scanner, into *ingest.Item[Entry],
) (extra int64, f *jsonscan.Fault) {
	at, has := s.At, map[string]bool{}
	for name := range jsonscan.Members(s.Text[at:]) {
		has[name] = true
	}
	isReading := has["metrics"] || !has["state"] && (has["metadata"] || has[FlatDevice])
	if has["state"] || !isReading {
		var e ingest.Item[andon.Event]
		if extra, f = r.events.entry(s, &e); f != nil {
			return 0, f
		}
		into.Value.Event = e.Value
	}
	if isReading {
		var e ingest.Item[andon.Reading]
		s.At = at
		ofReading, f := r.readings.entry(s, &e)
		if f != nil {
			return 0, f
		}
		into.Value.Reading, extra = e.Value, extra+ofReading
	}
	return extra, nil
}
