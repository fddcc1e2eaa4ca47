package people

import (
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// Subject is what a Match looks at: an incident and the device that it is of.
type Subject struct {
	Device   andon.DeviceID
	Groups   []andon.Group // as Setting has them: any of them counts
	State    andon.State
	Severity uint8
	Kind     Kind
	At       andon.Time
}

// Fits reports whether a match selects a subject.
func (m *Match) Fits(s *Subject) bool {
	switch {
	case len(m.States) > 0 && !slices.Contains(m.States, s.State),
		s.Severity < m.MinSeverity,
		m.Group != "" && !slices.ContainsFunc(s.Groups, func(g andon.Group) bool {
			return g.Within(m.Group)
		}),
		!strings.HasPrefix(string(s.Device), m.Prefix),
		!m.Kind.selects(s.Kind):
		return false
	}
	_, is := within(m.Hours, m.Zone, s.At)
	return is || m.Hours == ""
}

// selects reports whether a kind is meant: "absent:" means every rule of that kind.
func (k Kind) selects(is Kind) bool {
	return k == "" || k == is ||
		k == AbsentKind && strings.HasPrefix(string(is), string(AbsentKind))
}

// Check reports a kind that there is not, in the field kind of a place. What is absent is right.
func (k Kind) Check(place string) error {
	if k != "" && k != StateKind && k != SilentKind &&
		!strings.HasPrefix(string(k), string(AbsentKind)) {
		return andon.AtField(place+".kind", "kind %q is none of state, silent, absent:RULE", k)
	}
	return nil
}

func (m *Match) validate(place string) error {
	for i, state := range m.States {
		if err := state.Validate(); err != nil {
			return andon.AtField(at(place+".states", i), "%s", err)
		}
	}
	if err := m.Kind.Check(place); err != nil {
		return err
	}
	if err := checkGroup(place+".group", m.Group); err != nil {
		return err
	}
	if m.Hours != "" {
		if _, err := ParseHours(m.Hours); err != nil {
			return andon.AtField(place+".hours", "%s", err)
		}
	}
	if _, err := parseZone(m.Zone); err != nil {
		return andon.AtField(place+".zone", "%s", err)
	}
	return nil
}
