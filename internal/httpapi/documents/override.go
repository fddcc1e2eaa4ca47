package documents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
)

// Overrides are all of a schedule. Where two are about one time, the last one counts.
type Overrides struct {
	Overrides []people.Override `json:"overrides"`
}

// Set replaces the overrides of a schedule.
func (o Overrides) Set(s *people.Schedule) error {
	s.Overrides = o.Overrides
	return nil
}

// NewOverride is one that is added.
type NewOverride people.Override

// Set makes it the last one. It is there once, however often it is added.
func (o NewOverride) Set(s *people.Schedule) error {
	same := func(is people.Override) bool { return is == people.Override(o) }
	s.Overrides = append(slices.DeleteFunc(s.Overrides, same), people.Override(o))
	return nil
}

// PastOverrides are those of a person that are taken away: what ends after a time, and what is
// about that time where only that is wanted.
type PastOverrides struct {
	Person andon.PersonID
	After  andon.Time
	Then   bool
}

// Set takes them away; NotFound where there are none.
func (o PastOverrides) Set(s *people.Schedule) error {
	before := len(s.Overrides)
	s.Overrides = slices.DeleteFunc(s.Overrides, func(is people.Override) bool {
		return is.Person == o.Person && is.To > o.After && (!o.Then || is.From <= o.After)
	})
	if len(s.Overrides) == before {
		return andon.Errorf(andon.NotFound, "%s has no such override of the schedule %q", o.Person,
			s.Name)
	}
	return nil
}

// SetOverrides changes the overrides of a schedule by compare-and-swap: what else was changed of it
// meanwhile stays.
func SetOverrides(
	ctx context.Context, kept *records.Documents, tenant andon.TenantID, name string,
	over records.Versions, sent interface{ Set(*people.Schedule) error },
) (records.Document, error) {
	for {
		d, err := kept.Get(ctx, tenant, people.Schedules, name)
		if err != nil {
			return d, err
		}
		if err := over.Conflict(people.Schedules, name, d.Version); err != nil {
			return d, err
		}
		s, err := Content[people.Schedule](&d)
		if err != nil {
			return d, err
		}
		if err := sent.Set(&s); err != nil {
			return d, err
		}
		text, err := json.Marshal(s)
		if err != nil {
			return d, err
		}
		d, err = kept.Put(ctx, tenant, people.Schedules,
			records.Document{Name: name, Data: andon.JSON(text)}, records.Versions{d.Version})
		switch {
		case err == nil:
			return d, nil
		case andon.KindOf(err) == andon.Conflict && ctx.Err() == nil:
			continue
		}
		if _, one := sent.(NewOverride); one {
			last := fmt.Sprintf("body.overrides[%d]", len(s.Overrides)-1)
			err = moved(err, func(place string) string {
				return strings.Replace(place, last, "body", 1)
			})
		}
		return d, err
	}
}
