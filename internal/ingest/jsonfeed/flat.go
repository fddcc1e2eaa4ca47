package jsonfeed

import (
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Attributes of an item of the table in the time-series guide for DynamoDB. Next to them each
// number is a metric.
const (
	FlatDevice   = "deviceId"
	FlatTime     = "timestamp"
	FlatMetadata = "metadata" // the text of an object
	FlatExpiry   = "ttl"      // when the table forgets the item; no part of the reading
)

// FlatReading reads the text of an object as a flat item: deviceId, timestamp, a number for each
// metric, or true or false, and metadata, an object or a string that holds one. ttl is left out.
// What else there is joins the metadata. The time may not be missing. An item has a metric, or
// metadata of its own.
func FlatReading(text string, unit andon.Precision) (andon.Reading, error) {
	r := readingReader{unit: unit}
	var item ingest.Item[andon.Reading]
	s := jsonscan.Scanner{Text: text}
	s.Peek()
	_, f := r.entry(&s, &item)
	switch {
	case f != nil:
	case item.Value.Time == 0:
		f = s.Fault(0, "%s is missing", FlatTime)
	case len(item.Value.Metrics) == 0 && r.extra.own == "":
		f = s.Fault(0, "there is no metric")
	}
	if f != nil {
		return item.Value, andon.Errorf(andon.Invalid, "%s", f.Reason)
	}
	return item.Value, nil
}

func (r *readingReader) isFlat() bool {
	return r.reading.Device == "" && r.reading.Time == 0 && len(r.metrics) == 0 &&
		slices.ContainsFunc(r.extra.members, func(m member) bool { return m.name == FlatDevice })
}

type flatReader struct{ *readingReader }

func (r flatReader) field(s *jsonscan.Scanner, name string) (bit uint8, f *jsonscan.Fault) {
	switch name {
	case FlatDevice:
		return 1 << 0, text(s, name, &r.reading.Device)
	case FlatTime:
		return 1 << 1, instant(s, r.unit, &r.reading.Time)
	case FlatExpiry:
		return 1 << 4, s.Skip(1)
	case "device", "time", "metrics", FlatMetadata:
		return r.readingReader.field(s, name)
	}
	switch c := s.Peek(); {
	case c == '-' || c-'0' <= 9 || c == 't' || c == 'f':
		return 0, r.metric(s, name)
	case s.Word("null"): // absent
		return 0, nil
	}
	return 0, r.extra.unknown(s, name)
}
