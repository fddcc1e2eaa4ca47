package incidents

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/httpapi/params"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/people"
)

// Query selects incidents.
type Query struct {
	States     andon.StateFilter
	Statuses   []people.Status // any of these; none: all
	Severity   uint8           // at least
	Age        andon.Duration  // at least; see Admits
	Operator   andon.PersonID
	Unassigned bool
	Kind       people.Kind
	Flapping   string         // "true", "false" or "": all
	Device     andon.DeviceID // only this one; absent: all
	Prefix     string
	Selected   *groups.Selected
	now        andon.Time
}

var statuses = []people.Status{
	people.Unacknowledged, people.Acknowledged, people.Returned, people.Latched, people.Shelved,
	people.Suppressed, people.OutOfService, people.Closed,
}

// Read reads which incidents a request selects.
func Read(r *params.Reader) (q Query) {
	var devices andon.DeviceQuery
	q.States, q.Operator = r.States(), r.Person("operator")
	q.Device, q.Kind = r.DeviceOrPrefix(&devices), people.Kind(r.Text("kind"))
	q.Flapping, q.now = r.Text("flapping"), r.Now()
	q.Prefix = devices.Prefix
	if q.Unassigned = q.Operator == andon.NoPerson; q.Unassigned {
		q.Operator = ""
	}
	switch {
	case q.Kind == "", q.Kind == people.StateKind, q.Kind == people.SilentKind:
	case strings.HasPrefix(string(q.Kind), string(people.AbsentKind)):
	default:
		r.Mark("query.kind", "kind is state, silent, or absent: with or without the name of a "+
			"rule, not %s", ingest.Clip(string(q.Kind)))
	}
	if text := r.Text("severity"); text != "" {
		least, err := strconv.ParseUint(text, 10, 8)
		if q.Severity = uint8(least); err != nil {
			r.Mark("query.severity", "severity is 0 to 255, not %s", ingest.Clip(text))
		}
	}
	if text := r.Text("age"); text != "" {
		var err error
		q.Age, err = andon.ParseDuration(text)
		r.Check("query.age", err)
	}
	if text := r.Text("status"); text != "" {
		for one := range strings.SplitSeq(text, ",") {
			status := people.Status(one)
			if q.Statuses = append(q.Statuses, status); !slices.Contains(statuses, status) {
				r.Mark("query.status", "there is no status %s", ingest.Clip(one))
			}
		}
	}
	return q
}

// Admits reports whether an incident is selected. Its age is how long it has lasted: to now, or
// until its condition ended.
func (q *Query) Admits(i *people.Incident) bool {
	kind := q.Kind == "" || q.Kind == i.Kind ||
		q.Kind == people.AbsentKind && strings.HasPrefix(string(i.Kind), string(q.Kind))
	operator := (q.Operator == "" || q.Operator == i.Operator) &&
		(!q.Unassigned || i.Operator == "")
	end := i.Until
	if end == 0 {
		end = q.now
	}
	return kind && q.Wants(i.Device) && operator && i.Severity >= q.Severity &&
		(q.Age == 0 || end.Sub(i.Since) >= q.Age) &&
		q.States.Match(i.State) &&
		(q.Flapping == "" || q.Flapping == strconv.FormatBool(i.Flapping)) &&
		(len(q.Statuses) == 0 || slices.Contains(q.Statuses, i.Status()))
}

// Wants reports whether incidents of a device may be selected.
func (q *Query) Wants(device andon.DeviceID) bool {
	return (q.Device == "" || q.Device == device) &&
		strings.HasPrefix(string(device), q.Prefix) && q.Selected.Concerns(device)
}

// Select returns those of all that are selected, in a list of its own.
func (q *Query) Select(all []*people.Incident) []*people.Incident {
	return slices.DeleteFunc(slices.Clone(all), func(i *people.Incident) bool {
		return !q.Admits(i)
	})
}

// Position is a place in an order of open incidents.
type Position struct {
	Severity uint8
	Time     andon.Time
	ID       string
}

func (p Position) compare(to Position) int {
	return cmp.Or(cmp.Compare(to.Severity, p.Severity), cmp.Compare(p.Time, to.Time),
		cmp.Compare(p.ID, to.ID))
}

// PositionBy returns where an incident is in an order: by "severity" (then the longest first),
// "since" (the longest first) or "opened" (the newest first).
func PositionBy(order string, i *people.Incident) Position {
	switch order {
	case "since":
		return Position{Time: i.Since, ID: i.ID}
	case "opened":
		return Position{Time: andon.MaxTime - i.Opened, ID: i.ID}
	}
	return Position{Severity: i.Severity, Time: i.Since, ID: i.ID}
}

// After returns the first n of some incidents in an order that come after a position.
func After(some []*people.Incident, order string, after *Position, n int) []*people.Incident {
	if after != nil {
		some = slices.DeleteFunc(slices.Clone(some), func(i *people.Incident) bool {
			return PositionBy(order, i).compare(*after) <= 0
		})
	}
	slices.SortFunc(some, func(a, b *people.Incident) int {
		return PositionBy(order, a).compare(PositionBy(order, b))
	})
	return some[:min(n, len(some))]
}
