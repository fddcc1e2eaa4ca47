package transfer

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/ingest/table"
	"github.com/andonhq/andon/internal/seq"
)

// The kinds of entries. Those up to kindAll can be exported by themselves.
const (
	kindEvents      = "events"
	kindReadings    = "readings"
	kindAssignments = "assignments"
	kindEscalations = "escalations"
	kindAll         = "all" // an archive
	kindRetired     = "retired"
	kindProfiles    = "profiles"
	kindSettings    = "settings"
	kindRules       = "rules"
	kindEnd         = "end"
	kindAssign      = "assign"
)

// entry is one entry of a file: one of its members is set. It is also a line of an archive.
type entry struct {
	Andon      string               `json:"andon,omitempty"` // "export", on the first line
	Version    int                  `json:"version,omitempty"`
	Tenant     andon.TenantID       `json:"tenant,omitempty"`
	Settings   *client.Tenant       `json:"settings,omitempty"`
	Rules      []andon.GroupRule    `json:"rules,omitempty"` // that put devices into groups
	Profile    *andon.ProfileChange `json:"profile,omitempty"`
	Assignment *andon.Assignment    `json:"assignment,omitempty"`
	Retired    *andon.Retirement    `json:"retired,omitempty"`
	Event      *andon.Event         `json:"event,omitempty"`
	Escalation *andon.Escalation    `json:"escalation,omitempty"`
	Reading    *andon.Reading       `json:"reading,omitempty"`
	// End is on the last line: how many lines of each kind there were.
	End counts `json:"end,omitempty"`

	// Assign is an assignment from now on, which no archive has.
	Assign *andon.Assignment `json:"-"`
}

// about returns the kind of an entry, "" for the first line of an archive and for what is no entry;
// whose it is; and roughly the number of its bytes in a request.
func (e *entry) about() (kind string, device andon.DeviceID, bytes int) {
	const fields, metric = 160, 64 // names, quotes, ids, time
	switch {
	case e.Event != nil:
		return kindEvents, e.Event.Device, fields + len(e.Event.Operator) +
			len(e.Event.EscalatedTo) + len(e.Event.Attributes) +
			2*len(e.Event.Message) // it may need escapes
	case e.Reading != nil:
		return kindReadings, e.Reading.Device,
			fields + metric*len(e.Reading.Metrics) + len(e.Reading.Metadata)
	case e.Assignment != nil:
		return kindAssignments, e.Assignment.Device, fields
	case e.Escalation != nil:
		return kindEscalations, e.Escalation.Device, fields + 2*len(e.Escalation.Note)
	case e.Retired != nil:
		return kindRetired, e.Retired.Device, fields
	case e.Assign != nil:
		return kindAssign, e.Assign.Device, fields
	case e.Profile != nil:
		return kindProfiles, e.Profile.Device, 2 * fields
	case e.Settings != nil:
		return kindSettings, "", fields
	case e.Rules != nil:
		return kindRules, "", fields
	case e.End != nil:
		return kindEnd, "", fields
	}
	return "", "", 0
}

// placed is an entry of a file and its place, or why there is none.
type placed = table.Item[entry]

// placedEntries are the entries of a file in its order.
type placedEntries = table.Items[entry]

func wrapAll[T any](items table.Items[T], wrap func(*T) entry) placedEntries {
	return seq.Map(items, func(item table.Item[T]) placed {
		one := placed{Index: item.Index, Line: item.Line, Bad: item.Bad}
		if item.Bad == nil {
			one.Value = wrap(&item.Value)
		}
		return one
	})
}

func wrapEvents(items table.Items[andon.Event]) placedEntries {
	return wrapAll(items, func(e *andon.Event) entry { return entry{Event: e} })
}

func wrapReadings(items table.Items[andon.Reading]) placedEntries {
	return wrapAll(items, func(r *andon.Reading) entry { return entry{Reading: r} })
}

func pick[T any](lines []placed, member func(*entry) *T) (picked []T) {
	for i := range lines {
		if one := member(&lines[i].Value); one != nil {
			picked = append(picked, *one)
		}
	}
	return picked
}
