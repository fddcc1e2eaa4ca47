package people

import (
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/rules"
	"github.com/andonhq/andon/internal/strictjson"
)

const (
	minute = andon.Duration(60_000_000)
	day    = 24 * 60 * minute
)

// Bounds of documents.
const (
	maxSteps     = 50
	maxRepeat    = 1000
	maxAfter     = 30 * day
	maxLayers    = 20
	maxPeople    = 200
	maxHours     = 20
	maxOverrides = 500
	maxContacts  = 20
	maxDevices   = 1000
	maxWindow    = 366 * day
)

// Reference is what a document says of another one.
type Reference struct {
	Place string // "body.steps[2].to"
	Kind  DocumentKind
	Name  string
}

// Content is what a document says: a Policy, Schedule, Rule, Person or Maintenance.
type Content interface {
	// Validate reports what is wrong with it alone, or nil.
	Validate() error
	// References are the documents that it needs.
	References() []Reference
	naming(name string) (old string)
}

// Kinds are the kinds of documents that are served, those that others refer to first.
func Kinds() []DocumentKind {
	return []DocumentKind{Persons, Schedules, Policies, Maintenances, Rules}
}

// CalendarSuffix follows the name of a schedule in that of its calendar.
const CalendarSuffix = ".ics"

// New makes an empty document of a kind; nil: there are none of that kind.
func New(kind DocumentKind) Content {
	switch kind {
	case Policies:
		return new(Policy)
	case Schedules:
		return new(Schedule)
	case Rules:
		return new(Rule)
	case Persons:
		return new(Person)
	case Maintenances:
		return new(Maintenance)
	}
	return nil
}

// Decode reads the JSON of a document of a kind, strictly, and checks it on its own. A name that it
// has must be the one that is given; it has it afterwards.
func Decode(kind DocumentKind, name string, text andon.JSON) (Content, error) {
	is := New(kind)
	if is == nil {
		return nil, andon.Errorf(andon.NotFound, "there are no documents of kind %q", kind)
	}
	if err := strictjson.Decode(string(text), is); err != nil {
		return nil, err
	}
	if err := andon.PersonID(name).ValidateAs("name"); err != nil {
		return nil, andon.AtField("path.name", "%s", err)
	}
	if kind == Schedules && strings.HasSuffix(name, CalendarSuffix) {
		return nil, andon.AtField("path.name", "a name that ends in %s is that of the calendar of "+
			"a schedule", CalendarSuffix)
	}
	if old := is.naming(name); old != "" && old != name {
		return nil, andon.AtField("body.name", "the name is %q here, but %q of the document",
			old, name)
	}
	return is, is.Validate()
}

func rename[T ~string](field *T, name string) string {
	old := *field
	*field = T(name)
	return string(old)
}

func (p *Policy) naming(name string) string      { return rename(&p.Name, name) }
func (s *Schedule) naming(name string) string    { return rename(&s.Name, name) }
func (r *Rule) naming(name string) string        { return rename(&r.Name, name) }
func (p *Person) naming(name string) string      { return rename(&p.Name, name) }
func (m *Maintenance) naming(name string) string { return rename(&m.Name, name) }

// at is the place of an element.
func at(place string, i int) string { return place + "[" + strconv.Itoa(i) + "]" }

func checkGroup(place string, group andon.Group) error {
	if group == "" {
		return nil
	}
	if err := group.Validate(); err != nil {
		return andon.AtField(place, "%s", err)
	}
	return nil
}

// TargetKind is the first word of a target.
type TargetKind string

// The kinds of target.
const (
	ToOperator   TargetKind = "operator"
	ToSchedule   TargetKind = "schedule"
	ToSupervisor TargetKind = "supervisor"
	ToPerson     TargetKind = "person"
	ToTurn       TargetKind = "turn"
)

// Parts returns the kind of a target and the name in it.
func (t Target) Parts() (TargetKind, string) {
	kind, name, _ := strings.Cut(string(t), " ")
	return TargetKind(kind), name
}

func (t Target) isTurn() bool {
	kind, _ := t.Parts()
	return kind == ToTurn
}

// check reports what is wrong with a target.
func (t Target) check(place string) error {
	kind, name := t.Parts()
	switch kind {
	case ToOperator:
		if name != "" {
			return andon.AtField(place, "operator takes no name: it is whoever is assigned to the "+
				"device; say \"person %s\"", name)
		}
	case ToSchedule, ToSupervisor, ToPerson, ToTurn:
		if name == "" {
			return andon.AtField(place, "%q names nobody: say %q", t, string(kind)+" NAME")
		}
	case "":
		return andon.AtField(place, "it refers to nothing: say operator, \"schedule NAME\", "+
			"\"supervisor NAME\", \"person NAME\" or \"turn SCHEDULE\"")
	default:
		return andon.AtField(place, "%q is none of operator, \"schedule NAME\", \"supervisor "+
			"NAME\", \"person NAME\", \"turn SCHEDULE\"", t)
	}
	return nil
}

// reference adds what a target refers to.
func (t Target) reference(to []Reference, place string) []Reference {
	switch kind, name := t.Parts(); kind {
	case ToSchedule, ToTurn:
		return append(to, Reference{place, Schedules, name})
	case ToPerson, ToSupervisor:
		return append(to, Reference{place, Persons, name})
	}
	return to
}

// Validate reports what is wrong with a policy, or nil.
func (p *Policy) Validate() error {
	switch {
	case len(p.Steps) == 0 && p.Assign == "":
		return andon.AtField("body.steps", "a policy without steps does nothing")
	case len(p.Steps) > maxSteps:
		return andon.AtField("body.steps", "%d steps are more than %d", len(p.Steps), maxSteps)
	case p.Repeat < 0 || p.Repeat > maxRepeat:
		return andon.AtField("body.repeat", "repeat is 0 to %d, not %d", maxRepeat, p.Repeat)
	case p.Repeat > 0 && p.Every < minute:
		return andon.AtField("body.every", "what repeats needs at least a minute between its "+
			"rounds, not %s", p.Every)
	case p.Every > maxAfter:
		return andon.AtField("body.every", "%s is more than %s", p.Every, maxAfter)
	case !slices.Contains([]string{"", "acknowledged", "taken"}, p.Stop):
		return andon.AtField("body.stop", "%q is neither acknowledged nor taken", p.Stop)
	case p.AckExpires > maxAfter:
		return andon.AtField("body.ack_expires", "%s is more than %s", p.AckExpires, maxAfter)
	}
	if err := p.checkSteps(); err != nil {
		return err
	}
	if p.Assign != "" {
		if err := p.Assign.check("body.assign"); err != nil {
			return err
		}
		if kind, _ := p.Assign.Parts(); kind == ToOperator {
			return andon.AtField("body.assign", "a device without an operator has none to assign")
		}
	}
	return p.Match.validate("body.match")
}

func (p *Policy) checkSteps() error {
	for i, s := range p.Steps {
		place := at("body.steps", i)
		if err := s.To.check(place + ".to"); err != nil {
			return err
		}
		if s.After > maxAfter {
			return andon.AtField(place+".after", "%s is more than %s", s.After, maxAfter)
		}
		if i > 0 && s.After < p.Steps[i-1].After {
			return andon.AtField(place+".after", "%s is before the step above it, which is after "+
				"%s: both count from the beginning", s.After, p.Steps[i-1].After)
		}
	}
	return nil
}

// References are the people and schedules of the steps.
func (p *Policy) References() (all []Reference) {
	for i, s := range p.Steps {
		all = s.To.reference(all, at("body.steps", i)+".to")
	}
	return p.Assign.reference(all, "body.assign")
}

// Validate reports what is wrong with a schedule, or nil.
func (s *Schedule) Validate() error {
	_, err := s.Roster()
	return err
}

// References are the people of the layers and overrides.
func (s *Schedule) References() (all []Reference) {
	for i, layer := range s.Layers {
		for j, person := range layer.People {
			place := at(at("body.layers", i)+".people", j)
			all = append(all, Reference{place, Persons, string(person)})
		}
	}
	for i, o := range s.Overrides {
		place := at("body.overrides", i) + ".person"
		all = append(all, Reference{place, Persons, string(o.Person)})
	}
	return all
}

// Validate reports what is wrong with a person, or nil.
func (p *Person) Validate() error {
	if _, err := parseZone(p.Zone); err != nil {
		return andon.AtField("body.zone", "%s", err)
	}
	if len(p.Contacts) > maxContacts {
		return andon.AtField("body.contacts", "%d contacts are more than %d", len(p.Contacts),
			maxContacts)
	}
	for i, c := range p.Contacts {
		if c.Channel == "" {
			return andon.AtField(at("body.contacts", i)+".channel", "channel is missing")
		}
	}
	if p.Quiet == "" {
		return nil
	}
	switch hours, err := ParseHours(p.Quiet); {
	case err != nil:
		return andon.AtField("body.quiet", "%s", err)
	case hours.neverEnd():
		return andon.AtField("body.quiet", "hours %q never end, so nothing would be told at their "+
			"end: set min_severity for what is never told", p.Quiet)
	case p.QuietSeverity == 0:
		return andon.AtField("body.quiet_severity", "is missing: what is below it waits for the "+
			"end of the quiet hours")
	}
	return nil
}

// Validate reports what is wrong with a rule, or nil.
func (r *Rule) Validate() error { return (*rules.Rule)(r).Validate() }

// References are none: devices and groups need not have been seen.
func (r *Rule) References() []Reference { return nil }

// References are none: channels are settings of the program.
func (p *Person) References() []Reference { return nil }

// QuietUntil reports whether a severity waits for the end of quiet hours at a time, and when they
// end.
func (p *Person) QuietUntil(severity uint8, at andon.Time) (end andon.Time, quiet bool) {
	if severity >= p.QuietSeverity {
		return 0, false
	}
	return within(p.Quiet, p.Zone, at)
}

// References are none: devices and groups need not have been seen.
func (m *Maintenance) References() []Reference { return nil }

// within reports whether a time is in hours that are set and can be read, and when they end.
func within(text, zoneName string, now andon.Time) (end andon.Time, is bool) {
	hours, bad := ParseHours(text)
	zone, err := parseZone(zoneName)
	if bad != nil || err != nil {
		return 0, false
	}
	return hours.Until(now, zone)
}
