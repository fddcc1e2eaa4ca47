package config

import "github.com/andonhq/andon"

// defaultPlace is the place of a setting that nothing sets.
const defaultPlace = "default"

// Origin is one setting with the value that holds, and the place that it has it from.
type Origin struct {
	Setting
	Place  string // "andon.yaml:3", "ANDON_LISTEN", "--listen", "default"
	Secret bool   // its value is not here: Hidden, or "" where it is not set
}

// IsDefault reports whether nothing sets it.
func (o Origin) IsDefault() bool { return o.Place == defaultPlace }

// Trace reads a configuration as Load does, and says where each setting has its value from, in the
// order of Settings.
func Trace(from Sources) (Config, []Origin, error) {
	c := Default()
	l := newLoader(&c)
	env := variables(from.Env)
	if from.File == "" {
		from.File = env[fileVariable]
	}
	if from.File != "" {
		l.file(from.File)
	}
	l.environment(env)
	l.flags(from.Flags)
	l.together(&c)
	if len(l.problems) > 0 {
		return Config{}, nil, andon.Errorf(andon.Invalid, "%s", l.report())
	}
	return c, l.origins(), nil
}

// origins keeps the values as text: they were bound to a Config that the caller has a copy of.
func (l *loader) origins() []Origin {
	all := make([]Origin, len(l.settings))
	for i, s := range l.settings {
		place := l.places[s.Key]
		if place == "" {
			place = defaultPlace
		}
		value, isSecret := s.Value.String(), s.IsSecret()
		s.Value = text(&value)
		all[i] = Origin{Setting: s, Place: place, Secret: isSecret}
	}
	return all
}
