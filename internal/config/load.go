package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/andonhq/andon/internal/spell"
)

// loader takes settings from one source after the other and collects what is wrong.
type loader struct {
	settings []Setting
	byKey    map[string]Setting
	places   map[string]string // by key: where it was set last
	whole    string            // where the mapping begins that is read; "" if there is none such
	problems []string
}

func newLoader(groups []Group) *loader {
	l := &loader{
		settings: Settings(groups...), byKey: map[string]Setting{}, places: map[string]string{},
	}
	for _, s := range l.settings {
		l.byKey[s.Key] = s
	}
	return l
}

func (l *loader) problem(place, format string, args ...any) {
	l.problems = append(l.problems, place+": "+fmt.Sprintf(format, args...))
}

// set gives a setting its value. name is how the place spells the key, "" where the place says it.
func (l *loader) set(s Setting, value, place, name string) {
	l.places[s.Key] = place
	if err := s.Value.Set(value); err != nil {
		l.problem(place, "%s", strings.TrimSpace(name+" "+err.Error()))
	}
}

func variables(env []string) map[string]string {
	ours := map[string]string{}
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, prefix) {
			ours[name] = value
		}
	}
	return ours
}

// environment takes the settings of ANDON_ variables. A name that is not known is refused: what was
// meant to be set would not be. Its value is not shown, it may be a secret.
func (l *loader) environment(env map[string]string) {
	known := []string{fileVariable, urlVariable}
	for _, s := range l.settings {
		known = append(known, s.Variable())
		if value, ok := env[s.Variable()]; ok {
			l.set(s, value, s.Variable(), "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !slices.Contains(known, name) {
			l.problem(name, "is not a setting%s", nearVariable(name, slices.Clone(known)))
		}
	}
}

// nearVariable proposes a variable of a similar name. What all begin with would make short names
// alike.
func nearVariable(name string, known []string) string {
	for i := range known {
		known[i] = strings.TrimPrefix(known[i], prefix)
	}
	if near := spell.Nearest(strings.TrimPrefix(name, prefix), known); near != "" {
		return "; did you mean " + prefix + near + "?"
	}
	return ""
}

// flags takes the settings of the command line, by key.
func (l *loader) flags(given map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		s := l.byKey[key]
		l.set(s, given[key], "--"+s.Flag(), "")
	}
}

// origins keeps the values as text: they are bound to what the caller may change.
func (l *loader) origins() (all []Origin) {
	for _, s := range l.settings {
		value := s.Value.String()
		secret := s.Value.secret
		s.Value = Text(&value)
		all = append(all, Origin{s, cmp.Or(l.places[s.Key], defaultPlace), secret})
	}
	return all
}

// Check is what the check of a group uses to look at settings and to report.
type Check struct {
	l     *loader
	group string
}

// Wrong reports what is wrong with a setting of the group: what follows its key in the message.
func (c *Check) Wrong(key, format string, args ...any) {
	key = join(c.group, key)
	place := cmp.Or(c.l.places[key], c.l.whole, defaultPlace)
	c.l.problem(place, "%s "+format, append([]any{key}, args...)...)
}

// Equals reports whether a setting of the group has such a value.
func (c *Check) Equals(key, value string) bool {
	return c.l.byKey[join(c.group, key)].Value.String() == value
}

// IsSet reports whether a setting of the group has a value.
func (c *Check) IsSet(key string) bool { return !c.Equals(key, "") }

// Pair checks that of two settings of the group both are set or none.
func (c *Check) Pair(one, other string) {
	if !c.IsSet(one) {
		one, other = other, one
	}
	if c.IsSet(one) && !c.IsSet(other) {
		c.Wrong(one, "needs %s as well", join(c.group, other))
	}
}
