package grouping

import (
	"bufio"
	"errors"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/table"
)

// Profiles reads changes of profiles, which are all of one device where that is named. Those that
// can't be made are rejected, but one that is alone is an error.
func Profiles(text string, form table.Format, of andon.DeviceID, alone bool) (
	all []andon.ProfileChange, rejected []andon.Rejection, err error,
) {
	rows, err := table.New(bufio.NewReader(strings.NewReader(text)), table.Options{Format: form})
	var items table.Items[andon.ProfileChange]
	if err == nil {
		items, err = rows.Profiles(of)
	}
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), "\n") // then follows a flag of the command line
		return nil, nil, andon.AtField("body", "%s", what)
	}
	for row, err := range items {
		if err == nil && alone {
			err = row.Bad
		}
		switch {
		case err != nil:
			if e, ok := errors.AsType[*andon.Error](err); !ok || e.Fields == nil {
				err = andon.AtField("body", "%s", err)
			}
			return nil, nil, err
		case row.Bad != nil:
			rejected = append(rejected, andon.Rejection{
				Index: row.Index, Line: row.Line, Error: row.Bad.Error(),
			})
		default:
			all = append(all, row.Value)
		}
		if len(all)+len(rejected) > andon.MaxRequestEntries {
			return nil, nil, andon.Errorf(andon.TooLarge, "more than %d entries",
				andon.MaxRequestEntries)
		}
	}
	return all, rejected, nil
}
