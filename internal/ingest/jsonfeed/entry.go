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
	r := &entryReader{eventReader{unit: unit}, readingReader{unit: unit}, 0}
	return read(body, f, r, take)
}

type entryReader struct {
	events   eventReader
	readings readingReader
	extra    int64
}

func (r *entryReader) entry(
	s *jsonscan.Scanner, into *ingest.Item[Entry],
) (f *jsonscan.Fault) {
	at, has := s.At, map[string]bool{}
	for name := range jsonscan.Members(s.Text[at:]) {
		has[name] = true
	}
	r.extra = 0
	isReading := has["metrics"] || !has["state"] && (has["metadata"] || has[FlatDevice])
	if has["state"] || !isReading {
		var e ingest.Item[andon.Event]
		if f = r.events.entry(s, &e); f != nil {
			return f
		}
		into.Value.Event, r.extra = e.Value, int64(len(e.Value.Attributes))
	}
	if isReading {
		var e ingest.Item[andon.Reading]
		s.At = at
		if f = r.readings.entry(s, &e); f != nil {
			return f
		}
		into.Value.Reading = e.Value
		r.extra += r.readings.extraBytes()
	}
	return nil
}

func (r *entryReader) extraBytes() int64 { return r.extra }
