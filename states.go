package andon

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// UnknownSeverity is the severity of a state outside the set: kept, shown, ties broken by name.
const UnknownSeverity uint8 = 16

// UnknownStates says what becomes of an event whose state is outside the set of its tenant. The
// zero value is of a tenant that has declared neither its states nor this: it accepts them.
type UnknownStates string

// The two rules for states outside a set.
const (
	AcceptUnknown UnknownStates = "accept" // the event is kept, with UnknownSeverity
	RefuseUnknown UnknownStates = "refuse" // the event is rejected
)

// UnmarshalText reads one of the two.
func (u *UnknownStates) UnmarshalText(text []byte) error {
	switch read := UnknownStates(text); read {
	case AcceptUnknown, RefuseUnknown:
		*u = read
		return nil
	}
	return Errorf(Invalid, "unknown_states is %s or %s, not %q", AcceptUnknown, RefuseUnknown, text)
}

// MarshalText writes what counts: accept where nothing was said.
func (u UnknownStates) MarshalText() ([]byte, error) {
	if u == "" {
		u = AcceptUnknown
	}
	return []byte(u), nil
}

// String returns what MarshalText writes.
func (u UnknownStates) String() string {
	text, _ := u.MarshalText()
	return string(text)
}

// StateDef is one state of a set.
type StateDef struct {
	Name     State  `json:"name"`
	Severity uint8  `json:"severity"` // 0 is normal; higher is worse
	Letter   string `json:"letter"`   // one letter for a cell of the board
	Colour   string `json:"colour"`   // "#rrggbb"
	Symbol   string `json:"symbol"`   // a shape, so that colour is not the only sign
	// Reset says that an incident with it stays, after the return to normal, until it is reset.
	Reset bool `json:"reset,omitempty"`
}

// StateSet is the states that a device can be in, ordered by severity, then by name. It is
// immutable; the zero value holds no state.
type StateSet struct {
	defs []StateDef
}

// DefaultStates is the set of a tenant that names none: NORMAL and four warnings.
func DefaultStates() *StateSet {
	return &StateSet{defs: []StateDef{
		{"NORMAL", 0, "N", "#2e7d32", "●", false},
		{"WARNING1", 32, "1", "#f9a825", "▲", false},
		{"WARNING2", 48, "2", "#ef6c00", "◆", false},
		{"WARNING3", 64, "3", "#d84315", "■", false},
		{"WARNING4", 80, "4", "#b71c1c", "✖", false},
	}}
}

var colour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// MaxStates is how many states a set may have.
const MaxStates = 200

// NewStateSet makes a set. What a definition leaves out is filled in: the letter is the first of
// the name, or where a milder state has that one, the first in which their names differ; colour and
// symbol follow from the severity. A name that occurs twice is an error, and so is a set in which
// no state is normal: every device would be in an incident for ever.
func NewStateSet(defs []StateDef) (*StateSet, error) {
	if len(defs) == 0 || len(defs) > MaxStates {
		return nil, AtField("body.states", "a set has 1 to %d states, not %d", MaxStates, len(defs))
	}
	set := &StateSet{defs: slices.Clone(defs)}
	for i := range set.defs {
		if err := set.defs[i].complete(); err != nil {
			return nil, AtField(fmt.Sprintf("body.states[%d]", i), "%s", err)
		}
	}
	slices.SortFunc(set.defs, func(a, b StateDef) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Name, b.Name))
	})
	seen := map[State]bool{}
	for _, d := range set.defs {
		if seen[d.Name] {
			return nil, AtField("body.states", "state %q occurs twice", d.Name)
		}
		seen[d.Name] = true
	}
	if set.defs[0].Severity != 0 {
		return nil, AtField("body.states", "no state of the set is normal: give severity 0 "+
			"to one, such as NORMAL; a device in it has no incident")
	}
	set.fillLetters()
	return set, nil
}

// fillLetters gives a letter to the states that have none. Those that were given are taken first;
// of what is left the milder states choose before the worse.
func (s *StateSet) fillLetters() {
	owners := map[string]State{}
	for _, d := range s.defs {
		if d.Letter != "" {
			owners[d.Letter] = d.Name
		}
	}
	for i := range s.defs {
		d := &s.defs[i]
		if d.Letter != "" {
			continue
		}
		name := marks(d.Name)
		if len(name) == 0 {
			d.Letter, _, _ = looks(d.Severity)
			continue
		}
		d.Letter = string(name[:1])
		if owner, taken := owners[d.Letter]; taken {
			if other := firstDifference(name, marks(owner)); owners[other] == "" {
				d.Letter = other
			}
		}
		owners[d.Letter] = d.Name
	}
}

// marks are what of a name can be a letter: a space is not seen, and a dot is no identifier.
func marks(name State) []rune {
	return slices.DeleteFunc([]rune(string(name)), func(r rune) bool {
		return r == '.' || unicode.IsSpace(r)
	})
}

// firstDifference returns the first letter of a name that another name does not have in its place,
// or the first of all where there is none.
func firstDifference(name, other []rune) string {
	for i, r := range name {
		if i >= len(other) || r != other[i] {
			return string(r)
		}
	}
	return string(name[:1])
}

func (d *StateDef) complete() error {
	if err := d.Name.Validate(); err != nil {
		return err
	}
	letter, c, symbol := looks(d.Severity)
	if d.Letter == "" && d.Severity == UnknownSeverity {
		d.Letter = letter
	}
	if d.Colour == "" {
		d.Colour = c
	}
	if d.Symbol == "" {
		d.Symbol = symbol
	}
	if !colour.MatchString(d.Colour) {
		return Errorf(Invalid, "colour %q is not of the form #rrggbb", d.Colour)
	}
	if err := validID("symbol", d.Symbol, 16); err != nil || d.Letter == "" {
		return err
	}
	return validID("letter", d.Letter, 16)
}

// looks gives letter, colour and symbol for a severity that has no look of its own.
func looks(severity uint8) (letter, colour, symbol string) {
	switch {
	case severity == 0:
		return "N", "#2e7d32", "●"
	case severity == UnknownSeverity:
		return "?", "#546e7a", "○"
	case severity < 40:
		return "1", "#f9a825", "▲"
	case severity < 56:
		return "2", "#ef6c00", "◆"
	case severity < 72:
		return "3", "#d84315", "■"
	}
	return "4", "#b71c1c", "✖"
}

// Defs returns the states by severity, then by name. It must not be changed.
func (s *StateSet) Defs() []StateDef {
	if s == nil {
		return nil
	}
	return s.defs
}

// find returns the definition of a state; nil where it is outside the set.
func (s *StateSet) find(name State) *StateDef {
	defs := s.Defs()
	for i := range defs { // a handful: faster than a map
		if defs[i].Name == name {
			return &defs[i]
		}
	}
	return nil
}

// Severity returns the severity of a state; UnknownSeverity where it is outside the set.
func (s *StateSet) Severity(name State) uint8 {
	if d := s.find(name); d != nil {
		return d.Severity
	}
	return UnknownSeverity
}

// Contains reports whether the set has a state.
func (s *StateSet) Contains(name State) bool { return s.find(name) != nil }

// Look returns the definition of a state, or for one outside the set what is used in its place.
func (s *StateSet) Look(name State) StateDef {
	if d := s.find(name); d != nil {
		return *d
	}
	letter, c, symbol := looks(UnknownSeverity)
	return StateDef{
		Name: name, Severity: UnknownSeverity, Letter: letter, Colour: c, Symbol: symbol,
	}
}

// Admit returns those of states that a tenant with this set can't have, because it has had, in had,
// most states outside the set already. It adds clones of the others to had.
func (s *StateSet) Admit(states []State, had map[State]bool, most int) (refused []State) {
	outside := len(had)
	for _, d := range s.Defs() {
		if had[d.Name] {
			outside--
		}
	}
	for _, state := range states {
		switch {
		case had[state]:
		case s.Contains(state):
			had[State(strings.Clone(string(state)))] = true
		case outside < most:
			had[State(strings.Clone(string(state)))] = true
			outside++
		default:
			refused = append(refused, state)
		}
	}
	return refused
}

// Reorders returns the first of some states whose severity is another in to; ok is false where
// there is none. The order of what is stored follows from severities.
func (s *StateSet) Reorders(to *StateSet, states []State) (name State, ok bool) {
	for _, name := range states {
		if s.Severity(name) != to.Severity(name) {
			return name, true
		}
	}
	return "", false
}

// StateFilter selects states. The zero value selects all.
type StateFilter struct {
	names  []State // sorted, any of these
	prefix string  // or all that begin with this
}

// ParseStateFilter reads a name, several names joined by commas, or a prefix that ends in '*'. The
// empty text and "*" select all states.
func ParseStateFilter(text string) (StateFilter, error) {
	if text == "" || text == "*" {
		return StateFilter{}, nil
	}
	if prefix, ok := strings.CutSuffix(text, "*"); ok {
		if err := State(prefix).Validate(); err != nil && prefix != "." && prefix != ".." {
			return StateFilter{}, Errorf(Invalid, "prefix %q: %w", text, err)
		}
		return StateFilter{prefix: prefix}, nil
	}
	var f StateFilter
	for name := range strings.SplitSeq(text, ",") {
		if err := State(name).Validate(); err != nil {
			return StateFilter{}, Errorf(Invalid, "in %q: %w", text, err)
		}
		f.names = append(f.names, State(name))
	}
	slices.Sort(f.names)
	f.names = slices.Compact(f.names)
	return f, nil
}

// MatchesAll reports whether the filter selects every state.
func (f StateFilter) MatchesAll() bool { return len(f.names) == 0 && f.prefix == "" }

// Names returns the selected names in ascending order, or nothing where the filter is a prefix or
// selects all.
func (f StateFilter) Names() []State { return f.names }

// Prefix returns the prefix, or "" where the filter is a list or selects all.
func (f StateFilter) Prefix() string { return f.prefix }

// Match reports whether the filter selects s.
func (f StateFilter) Match(s State) bool {
	switch {
	case f.prefix != "":
		return strings.HasPrefix(string(s), f.prefix)
	case len(f.names) == 0:
		return true
	}
	return slices.Contains(f.names, s)
}

// String returns the filter as ParseStateFilter reads it.
func (f StateFilter) String() string {
	if f.prefix != "" {
		return f.prefix + "*"
	}
	parts := make([]string, len(f.names))
	for i, n := range f.names {
		parts[i] = string(n)
	}
	return strings.Join(parts, ",")
}
