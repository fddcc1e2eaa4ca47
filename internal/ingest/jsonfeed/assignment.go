package jsonfeed

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Assignments reads who is assigned to which device: device and operator. An operator that is null
// unassigns; one that is missing or empty is rejected, and so is any other field, since an
// assignment has no place to keep it. From and To are 0. The error is as for Events.
func Assignments(body string, f Format, take Take) (ingest.Batch[andon.Assignment], error) {
	return read(body, f, (&assignmentReader{}).entry, take)
}

type assignmentReader struct {
	assignment *andon.Assignment // the one being read
	operator   bool              // whether it names an operator, or null
	null       bool
}

func (r *assignmentReader) entry(
	s *jsonscan.Scanner, into *ingest.Item[andon.Assignment],
) (int64, *jsonscan.Fault) {
	r.assignment, r.operator, r.null = &into.Value, false, false
	if f := fields(s, r); f != nil {
		return 0, f
	}
	return 0, invalid(r.validate())
}

func (r *assignmentReader) validate() error {
	if err := r.assignment.Device.Validate(); err != nil {
		return andon.AtField("body.device", "%s", err)
	}
	if !r.operator {
		return andon.AtField("body.operator", "operator is missing; null unassigns")
	}
	if r.null {
		return nil
	}
	if r.assignment.Operator == "" {
		return andon.AtField("body.operator", "operator is empty: a name assigns, null unassigns")
	}
	if err := r.assignment.Operator.ValidateAs("operator"); err != nil {
		return andon.AtField("body.operator", "%s", err)
	}
	return nil
}

func (r *assignmentReader) field(s *jsonscan.Scanner, name string) (bit uint8, f *jsonscan.Fault) {
	switch name {
	case "device":
		return 1 << 0, text(s, name, &r.assignment.Device)
	case "operator":
		r.operator, r.null = true, s.Peek() == 'n'
		return 1 << 1, text(s, name, &r.assignment.Operator)
	}
	return 0, s.Fault(s.NameAt, "an assignment has no field %s", ingest.Clip(name))
}
