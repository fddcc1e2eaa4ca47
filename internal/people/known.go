package people

import (
	"strings"

	"github.com/andonhq/andon"
)

// Known is all documents of a tenant, decoded. It is never changed once it is made.
type Known struct {
	Policies    []Policy // by name, as are the others
	Schedules   map[string]*Schedule
	Rosters     map[string]*Roster // of the schedules: who is on call
	People      map[andon.PersonID]*Person
	Maintenance []Maintenance
}

// Setting is what decisions depend on besides the incident. Its functions may be nil.
type Setting struct {
	*Known
	Now   andon.Time
	Group func(andon.DeviceID) andon.Group
	// Parent returns the device that another one belongs to, if any; Children those that belong to
	// one.
	Parent   func(andon.DeviceID) andon.DeviceID
	Children func(andon.DeviceID) []andon.DeviceID
	// OnCall says who is on call by a schedule at a time, and when that changes next; 0: never.
	OnCall func(s *Schedule, at andon.Time) (who andon.PersonID, until andon.Time)
	// Turn returns the next in turn of a schedule's people, the same however often it is asked.
	Turn func(*Schedule) andon.PersonID
	// Windows are those of maintenance that are open now.
	Windows []*Maintenance
	// Within reports whether a time is within hours of the week, as Match has them.
	Within func(hours, zone string, at andon.Time) bool
}

// policyOf returns the policy that matches an incident; nil where there is none.
func (s *Setting) policyOf(in *Incident) (best *Policy) {
	for i := range s.Policies {
		p := &s.Policies[i]
		if s.fits(&p.Match, in) && (best == nil || p.Match.MinSeverity > best.Match.MinSeverity) {
			best = p
		}
	}
	return best
}

// fits reports whether all that is there of a match fits an incident.
func (s *Setting) fits(m *Match, in *Incident) bool {
	switch {
	case len(m.States) > 0 && !contains(m.States, in.State),
		in.Severity < m.MinSeverity,
		!strings.HasPrefix(string(in.Device), m.Prefix),
		m.Group != "" && (s.Group == nil || !s.Group(in.Device).Within(m.Group)):
		return false
	case m.Kind == AbsentKind && !strings.HasPrefix(string(in.Kind), string(AbsentKind)),
		m.Kind != "" && m.Kind != AbsentKind && m.Kind != in.Kind:
		return false
	}
	return m.Hours == "" || s.Within != nil && s.Within(m.Hours, m.Zone, s.Now)
}

func contains(all []andon.State, state andon.State) bool {
	for _, one := range all {
		if one == state {
			return true
		}
	}
	return false
}

// policy returns the policy of a name; nil where there is none any more.
func (s *Setting) policy(name string) *Policy {
	for i := range s.Policies {
		if s.Policies[i].Name == name {
			return &s.Policies[i]
		}
	}
	return nil
}

// person returns whom a target names at a time; absent: nobody.
func (s *Setting) person(to Target, in *Incident, at andon.Time) (who andon.PersonID) {
	what, name, _ := strings.Cut(string(to), " ")
	switch what {
	case "operator":
		return in.Operator
	case "person", "supervisor":
		return andon.PersonID(name)
	case "schedule":
		who, _ = s.shift(to, at)
	case "turn":
		if schedule := s.Schedules[name]; schedule != nil && s.Turn != nil {
			who = s.Turn(schedule)
		}
	}
	return who
}

// shift returns who is on call by the schedule that a target names, and until when; 0: it does not
// end, or the target is no schedule.
func (s *Setting) shift(to Target, at andon.Time) (who andon.PersonID, until andon.Time) {
	what, name, _ := strings.Cut(string(to), " ")
	schedule := s.Schedules[name]
	if what != "schedule" || schedule == nil || s.OnCall == nil {
		return "", 0
	}
	return s.OnCall(schedule, at)
}

// window returns the name of the window of maintenance that a device is in; absent: in none.
func (s *Setting) window(device andon.DeviceID) string {
	for _, m := range s.Windows {
		var group andon.Group
		if m.Group != "" && s.Group != nil {
			group = s.Group(device)
		}
		if m.Selects(device, group) {
			return m.Name
		}
	}
	return ""
}

// OnCall returns who is on call by a schedule of these at a time, if anybody is, and when that
// changes; 0: not within a year.
func (k *Known) OnCall(s *Schedule, at andon.Time) (who andon.PersonID, until andon.Time) {
	roster := k.Rosters[s.Name]
	if roster == nil {
		return "", 0
	}
	is := roster.OnCall(at)
	return is.Person, is.To
}
