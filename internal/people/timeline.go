package people

import "github.com/andonhq/andon"

// Trial is an incident that is made up to see what a policy does about it.
type Trial struct {
	At       andon.Time
	Device   andon.DeviceID
	Group    andon.Group
	Kind     Kind
	State    andon.State
	Severity uint8
	Operator andon.PersonID
}

// mostTried is how many times of a timeline are looked at.
const mostTried = 1000

// Timeline returns what a policy does about an incident that opens, that lasts and that nobody does
// anything about, in its steps; and the policy that would really be followed: absent where none
// matches. The policy is followed whether it matches or not.
func (k *Known) Timeline(policy *Policy, t *Trial) (in *Incident, followed string) {
	s := &Setting{
		Known: k, Now: t.At,
		Groups: func(andon.DeviceID) []andon.Group { return []andon.Group{t.Group} },
	}
	if p := s.policyOf(&Incident{
		Device: t.Device, Kind: t.Kind, State: t.State, Severity: t.Severity,
	}); p != nil {
		followed = p.Name
	}
	tried, alone := *policy, *k
	tried.Match = Match{}
	alone.Policies = []Policy{tried}
	s.Known = &alone
	turns := map[string]int{} // nobody had one before
	s.TakeTurns(func(of *Schedule) andon.PersonID {
		all, n := of.Everybody(), turns[of.Name]
		turns[of.Name]++
		return all[n%len(all)]
	})
	change := s.open(t)
	in = Open(s, "trial", t.Device, t.Kind, &Observation{
		Holds: true, Since: t.At, Severity: t.Severity, Operator: t.Operator,
		Entry: andon.EntryRef{Time: t.At, State: t.State},
	})
	over := func() bool { return in.Policy.Next == 0 && in.Maintenance == "" }
	for tried := 0; tried < mostTried && !over(); tried++ { // a window may never end
		due := andon.Earlier(in.Due(), change)
		if due == 0 {
			break
		}
		s.Now = due
		change = s.open(t)
		in.Advance(s)
		in.Review(s)
	}
	return in, followed
}

// open has the windows open that a trial is in now, and returns when that may change; 0: never.
func (s *Setting) open(t *Trial) (change andon.Time) {
	s.Windows = nil
	for i := range s.Maintenance {
		m := &s.Maintenance[i]
		if !m.Selects(t.Device, t.Group) {
			continue
		}
		switch begin, end := m.Window(s.Now); {
		case begin > s.Now:
			change = andon.Earlier(change, begin)
		case begin != 0:
			s.Windows = append(s.Windows, Window{m, begin, end})
			change = andon.Earlier(change, end)
		}
	}
	return change
}
