package config

import (
	"fmt"
	"slices"
	"strings"
)

// loader takes settings from one source after the other and collects what is wrong.
type loader struct {
	settings []Setting
	byKey    map[string]Setting
	places   map[string]string // by key: where it was set last
	problems []string
}

func newLoader(c *Config) *loader {
	l := &loader{settings: c.Settings(), byKey: map[string]Setting{}, places: map[string]string{}}
	for _, s := range l.settings {
		l.byKey[s.Key] = s
	}
	return l
}

func (l *loader) problem(place, format string, args ...any) {
	l.problems = append(l.problems, place+": "+fmt.Sprintf(format, args...))
}

func (l *loader) report() string { return strings.Join(l.problems, "\n") }

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
	for _, s := range l.settings {
		if value, ok := env[s.Variable()]; ok {
			l.set(s, value, s.Variable(), "")
		}
	}
	known := l.variableNames()
	for _, name := range sortedKeys(env) {
		if !slices.Contains(known, name) {
			l.problem(name, "is not a setting%s", didYouMean(name, known))
		}
	}
}

func (l *loader) variableNames() []string {
	names := []string{fileVariable, urlVariable}
	for _, s := range l.settings {
		names = append(names, s.Variable())
	}
	return names
}

// flags takes the settings of the command line, by key.
func (l *loader) flags(given map[string]string) {
	for _, key := range sortedKeys(given) {
		s := l.byKey[key]
		l.set(s, given[key], "--"+s.Flag(), "")
	}
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
