package people

import (
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/rules"
)

// Known is all documents of a tenant, decoded. It is never changed once it is made.
type Known struct {
	Policies    []Policy           // by name, as are the others
	Rosters     map[string]*Roster // the schedules
	People      map[andon.PersonID]*Person
	Maintenance []Maintenance
	Rules       []*rules.Rule
	Begun       map[string]andon.Time // when a rule was made or switched on last
}

// Setting is what decisions depend on besides the incident. Its functions may be nil.
type Setting struct {
	*Known
	Now andon.Time
	// States are those of the tenant, LongestShelf is its setting. The zero values are those of a
	// tenant that says nothing.
	States       *andon.StateSet
	LongestShelf andon.Duration
	// Groups returns those by which people are told of a device: of a gateway in no group they are
	// those of its devices.
	Groups func(andon.DeviceID) []andon.Group
	// Parent returns the device that another one belongs to, if any; Children those that belong to
	// one.
	Parent   func(andon.DeviceID) andon.DeviceID
	Children func(andon.DeviceID) []andon.DeviceID
	// Turn returns the next in turn of a schedule's people, see TakeTurns.
	Turn func(*Schedule, *Incident) andon.PersonID
	// Resets reports whether the log of the last run of an incident has a state that asks for a
	// reset.
	Resets func(*Incident) (bool, error)
	// Windows are those of maintenance that are open now. Reviewed is until when it is known which
	// devices were in one; 0: unknown.
	Windows  []Window
	Reviewed andon.Time
	SetBack  andon.Duration // by how much the clock was set back since the last review, if known
}

// policyOf returns the policy that matches an incident; nil where there is none.
func (s *Setting) policyOf(in *Incident) (best *Policy) {
	is := s.subject(in)
	for i := range s.Policies {
		p := &s.Policies[i]
		if p.Match.Fits(&is) && (best == nil || p.Match.MinSeverity > best.Match.MinSeverity) {
			best = p
		}
	}
	return best
}

// subject is what a policy looks at of an incident.
func (s *Setting) subject(in *Incident) Subject {
	is := Subject{
		Device: in.Device, State: in.State, Severity: in.Severity, Kind: in.Kind, At: s.Now,
	}
	if s.Groups != nil {
		is.Groups = s.Groups(in.Device)
	}
	return is
}

// policy returns the policy that is followed; nil where there is none, or none any more.
func (s *Setting) policy(g *Progress) *Policy {
	if g == nil || g.Sum == 0 {
		return nil
	}
	return s.named(g.Policy)
}

// named returns the policy of a name; nil where there is none.
func (s *Setting) named(policy string) *Policy {
	for i := range s.Policies {
		if s.Policies[i].Name == policy {
			return &s.Policies[i]
		}
	}
	return nil
}

// person returns whom a target names at a time; absent: nobody.
func (s *Setting) person(to Target, in *Incident, at andon.Time) (who andon.PersonID) {
	switch what, name := to.Parts(); what {
	case ToOperator:
		return in.Operator
	case ToPerson, ToSupervisor:
		return andon.PersonID(name)
	case ToSchedule:
		who, _ = s.shift(to, at)
	case ToTurn:
		if roster := s.Rosters[name]; roster != nil && s.Turn != nil {
			who = s.Turn(roster.Schedule, in)
		}
	}
	return who
}

// TakeTurns has the people of schedules take turns, of whom next returns the next one. Each step of
// an incident takes a turn, once however often what is due at a time is decided.
func (s *Setting) TakeTurns(next func(*Schedule) andon.PersonID) {
	type turn struct {
		schedule, incident string
		step               int
		at                 andon.Time
	}
	var mu sync.Mutex
	taken := map[turn]andon.PersonID{}
	s.Turn = func(of *Schedule, in *Incident) andon.PersonID {
		t := turn{schedule: of.Name, incident: in.ID, at: s.Now}
		if in.Policy != nil {
			t.step = in.Policy.Step
		}
		mu.Lock()
		defer mu.Unlock()
		who, is := taken[t]
		if !is {
			who = next(of)
			taken[t] = who
		}
		return who
	}
}

// shift returns who is on call by the schedule that a target names, if anybody is, and when that
// changes; 0: not within a year, or the target is no schedule.
func (k *Known) shift(to Target, at andon.Time) (who andon.PersonID, until andon.Time) {
	what, name := to.Parts()
	roster := k.Rosters[name]
	if what != ToSchedule || roster == nil {
		return "", 0
	}
	is := roster.OnCall(at)
	return is.Person, is.To
}

// window returns the window of maintenance that a device is in; nil: in none.
func (s *Setting) window(device andon.DeviceID) *Window {
	return WindowOf(s.Windows, device, s.Groups)
}
