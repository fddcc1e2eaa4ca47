package records_test

import (
	"errors"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people/records"
)

func asFaulty(err error, into **records.Faulty) bool { return errors.As(err, into) }

// faultAt is the place of the only fault.
func faultAt(f *records.Faulty) string {
	e, ok := errors.AsType[*andon.Error](f.Err)
	if !ok || len(e.Fields) != 1 {
		return ""
	}
	return e.Fields[0].Location
}
