package jsonfeed

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Events reads log entries: device, state; time, operator, message, attributes, escalated_to. A
// time that is a number counts the unit; without a time, Time is 0. Fields by other names join the
// attributes. The events hold parts of body.
//
// The error is an andon.Error, for the body as a whole: it is empty (Invalid), not one entry is an
// object (Invalid), it is an array whose syntax breaks (Invalid) or one object alone that is
// refused (Invalid, its field named), or it has more than andon.MaxRequestEntries (TooLarge). Else
// what can't be kept is in Rejected. An error of take is returned as it is.
func Events(
	body string, f Format, unit andon.Precision, take Take,
) (ingest.Batch[andon.Event], error) {
	return read(body, f, (&eventReader{unit: unit}).entry, take)
}

type eventReader struct {
	unit  andon.Precision
	event *andon.Event // the one being read
	extra extras
}

func (r *eventReader) entry(
	s *jsonscan.Scanner, into *ingest.Item[andon.Event],
) (extra int64, f *jsonscan.Fault) {
	r.event = &into.Value
	r.extra = extras{field: "attributes"}
	if f = fields(s, r); f != nil {
		return 0, f
	}
	if r.event.Attributes, f = r.extra.join(); f != nil {
		return 0, f
	}
	extra = int64(len(r.event.Attributes))
	return extra, r.extra.suggest(invalid(into.Value.Validate()))
}

func (r *eventReader) field(s *jsonscan.Scanner, name string) (bit uint8, f *jsonscan.Fault) {
	switch name {
	case "device":
		return 1 << 0, text(s, name, &r.event.Device)
	case "time":
		return 1 << 1, instant(s, r.unit, &r.event.Time)
	case "state":
		return 1 << 2, text(s, name, &r.event.State)
	case "operator":
		return 1 << 3, text(s, name, &r.event.Operator)
	case "message":
		return 1 << 4, text(s, name, &r.event.Message)
	case "attributes":
		return 1 << 5, r.extra.object(s)
	case "escalated_to":
		return 1 << 6, text(s, name, &r.event.EscalatedTo)
	}
	return 0, r.extra.unknown(s, name)
}
