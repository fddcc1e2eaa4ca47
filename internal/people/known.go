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
	// OnCall says who is on call by a schedule at a time, and when that changes next; 0: never.
	OnCall func(s *Schedule, at andon.Time) (who andon.PersonID, until andon.Time)
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
		if schedule := s.Schedules[name]; schedule != nil && s.OnCall != nil {
			who, _ = s.OnCall(schedule, at)
		}
	}
	return who
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
