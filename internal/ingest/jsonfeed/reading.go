package jsonfeed

import (
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Readings reads readings: device, metrics (name to number, true or false; null is absent); time,
// metadata, an object or a string that holds one. Fields by other names join the metadata. An entry
// without device, time and metrics that has a deviceId is a flat item, see FlatReading. All else is
// as for Events.
func Readings(
	body string, f Format, unit andon.Precision, take Take,
) (ingest.Batch[andon.Reading], error) {
	return read(body, f, (&readingReader{unit: unit}).entry, take)
}

type readingReader struct {
	unit    andon.Precision
	reading *andon.Reading // the one being read
	metrics andon.Metrics  // of that
	extra   extras
}

func (r *readingReader) entry(
	s *jsonscan.Scanner, into *ingest.Item[andon.Reading],
) (extra int64, f *jsonscan.Fault) {
	r.reading = &into.Value
	r.metrics = make(andon.Metrics, 0, len(r.metrics)) // most have as many as the one before
	r.extra = extras{field: "metadata", quoted: true}
	at := s.At
	if f = fields(s, r); f != nil {
		return 0, f
	}
	if r.isFlat() {
		s.At, r.extra.members, r.extra.own, r.extra.size = at, nil, "", 0
		if f = fields(s, flatReader{r}); f != nil {
			return 0, f
		}
	}
	if len(r.metrics) > 0 {
		var err error
		if r.reading.Metrics, err = r.metrics.Sorted(); err != nil {
			return 0, invalid(err)
		}
	}
	if r.reading.Metadata, f = r.extra.join(); f != nil {
		return 0, f
	}
	extra = int64(len(r.metrics)*metricBytes + len(r.reading.Metadata))
	return extra, r.extra.suggest(invalid(into.Value.Validate()))
}

func (r *readingReader) field(s *jsonscan.Scanner, name string) (bit uint8, f *jsonscan.Fault) {
	switch name {
	case "device":
		return 1 << 0, text(s, name, &r.reading.Device)
	case "time":
		return 1 << 1, instant(s, r.unit, &r.reading.Time)
	case "metrics":
		return 1 << 2, r.object(s)
	case "metadata":
		return 1 << 3, r.extra.object(s)
	}
	return 0, r.extra.unknown(s, name)
}

// object reads the object of metrics; null is absent.
func (r *readingReader) object(s *jsonscan.Scanner) *jsonscan.Fault {
	if s.Peek() != '{' {
		if s.Word("null") {
			return nil
		}
		return s.WantField("metrics", "an object")
	}
	s.At++
	for first := true; ; first = false {
		name, more, f := s.Member(first)
		if f != nil || !more {
			return f
		}
		if s.Word("null") { // absent
			continue
		}
		if f = r.metric(s, name); f != nil {
			return f
		}
	}
}

func (r *readingReader) metric(s *jsonscan.Scanner, name string) *jsonscan.Fault {
	if len(r.metrics) == andon.MaxMetrics {
		f := s.Fault(s.NameAt, "more than %d metrics", andon.MaxMetrics)
		f.Field = "metrics"
		return f
	}
	value, f := metric(s, name)
	r.metrics = append(r.metrics, andon.Metric{Name: andon.MetricName(name), Value: value})
	return f
}

// metric reads the value of one metric: a number, or true and false as 1 and 0.
func metric(s *jsonscan.Scanner, name string) (float64, *jsonscan.Fault) {
	at, c := s.At, s.Peek()
	switch {
	case strings.HasPrefix(s.Text[at:], "-Infinity"):
	case c == '-' || c-'0' <= 9:
		number, f := s.Number()
		if f != nil {
			return 0, f
		}
		value, err := ingest.ParseMetric(number)
		if err != nil {
			f = s.Fault(at, "metric %s: %s", ingest.Clip(name), err)
			f.Field = "metrics"
		}
		return value, f
	case s.Word("true"):
		return 1, nil
	case s.Word("false"):
		return 0, nil
	}
	f := s.Want("a number, true or false")
	f.Field, f.Reason = "metrics", "metric "+ingest.Clip(name)+": "+f.Reason
	return 0, f
}
