package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon/internal/spell"
)

// loader takes settings from one source after the other and collects what is wrong.
type loader struct {
	groups   []Group
	settings []Setting // of the groups, and of the objects in lists that were met
	byKey    map[string]Setting
	places   map[string]string // by key: where it was set last
	problems []string
}

func newLoader(groups []Group) *loader {
	l := &loader{byKey: map[string]Setting{}, places: map[string]string{}}
	for _, g := range groups {
		l.add(g, false)
	}
	return l
}

func (l *loader) add(g Group, inList bool) {
	l.groups = append(l.groups, g)
	for _, s := range g.whole(inList) {
		l.settings = append(l.settings, s)
		l.byKey[s.Key] = s
	}
}

// addObject adds an object to a list, with its settings: "webhooks.0.url".
func (l *loader) addObject(list Setting, place string) {
	g := Group{Name: join(list.Key, strconv.Itoa(list.Value.length()))}
	l.places[g.Name] = place
	object := list.Value.add()
	g.Settings, g.Check = object.Settings, object.Check
	l.add(g, true)
}

// grow adds the objects that names are of: each has its number, from 0, as one of its parts. The
// place is the name itself unless it is given.
func (l *loader) grow(
	names []string, separator string, spelled func(Setting) string, place string,
) {
	next := 0
	for next < len(l.settings) { // it grows, where objects have lists
		s := l.settings[next]
		next++
		for s.Value.add != nil {
			of := spelled(s) + separator + strconv.Itoa(s.Value.length()) + separator
			at := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, of) })
			if at < 0 {
				break
			}
			l.addObject(s, cmp.Or(place, names[at]))
		}
	}
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

// variables returns those of the environment that are ours.
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
	names := slices.Sorted(maps.Keys(env))
	l.grow(names, "_", Setting.Variable, "")
	known := []string{fileVariable, urlVariable}
	for _, s := range l.settings {
		if s.Value.add != nil {
			continue
		}
		known = append(known, s.Variable())
		if value, ok := env[s.Variable()]; ok {
			l.set(s, value, s.Variable(), "")
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			l.problem(name, "is not a setting%s", l.why(name, slices.Clone(known)))
		}
	}
}

// why says what may be wrong with the name of a variable.
func (l *loader) why(name string, known []string) string {
	for _, s := range l.settings {
		if s.Value.add == nil {
			continue
		}
		rest, _ := strings.CutPrefix(name, s.Variable()+"_")
		digits, _, _ := strings.Cut(rest, "_")
		if n, err := strconv.Atoi(digits); err == nil && n > s.Value.length() {
			return fmt.Sprintf(": %s is a list, numbered from 0 on without gaps, and has %d so far",
				s.Key, s.Value.length())
		}
	}
	for i := range known { // what all begin with would make short names alike
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
		if s.Value.add != nil {
			continue // its objects are there by their settings
		}
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
	place := cmp.Or(c.l.places[key], c.l.places[c.group], defaultPlace)
	c.l.problem(place, "%s "+format, append([]any{key}, args...)...)
}

// Has reports whether a setting of the group has such a value.
func (c *Check) Has(key, value string) bool {
	return c.l.byKey[join(c.group, key)].Value.String() == value
}

// IsSet reports whether a setting of the group has a value.
func (c *Check) IsSet(key string) bool { return !c.Has(key, "") }

// Pair checks that of two settings of the group both are set or none.
func (c *Check) Pair(one, other string) {
	if !c.IsSet(one) {
		one, other = other, one
	}
	if c.IsSet(one) && !c.IsSet(other) {
		c.Wrong(one, "needs %s as well", join(c.group, other))
	}
}
