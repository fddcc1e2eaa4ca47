// Package config reads settings: from one YAML file, ANDON_ variables of the environment and flags,
// each above the one before. Adapters and the program declare their settings as Groups, and all
// three spellings, the help and the reference page follow from these.
//
// It knows the forms of values and the places that they come from. It must not know any setting. It
// reads a file only if the file is named, so that the program does not behave differently in
// another directory.
package config

import (
	"cmp"
	"strings"

	"github.com/andonhq/andon"
)

// Group is settings that belong together: those of an adapter, or the program's own.
type Group struct {
	Name     string // before each key, with a dot: "cassandra"; "" for none
	Settings []Setting
	// Check looks at what only several settings together can get wrong. It is called once all are
	// set; nil: there is nothing to check.
	Check func(*Check)
}

// Setting is one key of the configuration.
type Setting struct {
	Key   string // as YAML spells it, "log.level"; in a Group without the group's name
	Value Value  // where it is kept; it holds the default until it is set
	Help  string // one sentence, without a full stop
}

const (
	prefix       = "ANDON_"
	fileVariable = prefix + "CONFIG" // names the file, so the file can't hold it
	urlVariable  = prefix + "URL"    // of the commands that ask a server, which needs none itself
)

// Variable returns the spelling in the environment: "ANDON_LOG_LEVEL".
func (s Setting) Variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// Flag returns the spelling on the command line, without its dashes: "log-level".
func (s Setting) Flag() string {
	return strings.NewReplacer(".", "-", "_", "-").Replace(s.Key)
}

// HasFlag reports whether it has a spelling on the command line. Secrets have none: every user of a
// machine can read the command lines that run on it.
func (s Setting) HasFlag() bool { return !s.Value.secret }

// Settings lists the settings of groups by their whole keys. A setting that went out of use stays
// in its group, so that a file of yesterday starts the program of today.
func Settings(groups ...Group) (all []Setting) {
	for _, g := range groups {
		for _, s := range g.Settings {
			s.Key = join(g.Name, s.Key)
			all = append(all, s)
		}
	}
	return all
}

func join(group, key string) string {
	if group == "" {
		return key
	}
	return group + "." + key
}

// Sources are the places that a configuration is read from, in rising order.
type Sources struct {
	File  string            // path of the YAML file; "" for the one that ANDON_CONFIG names, if any
	Env   []string          // "NAME=value", as os.Environ has it
	Flags map[string]string // by key
}

// Origin is one setting with the value that holds, and the place that it has it from.
type Origin struct {
	Setting
	Place  string // "andon.yaml:3", "ANDON_LISTEN", "--listen", "default"
	Secret bool   // its value is not here: Hidden, or "" where it is not set
}

// defaultPlace is the place of a setting that nothing sets.
const defaultPlace = "default"

// IsDefault reports whether nothing sets it.
func (o Origin) IsDefault() bool { return o.Place == defaultPlace }

// Load gives the settings of groups their values, and says where each has its value from. Its error
// is Invalid and holds a line for each thing that is wrong, which begins with the place:
// "andon.yaml:3", "ANDON_LISTEN", "--listen".
func Load(from Sources, groups ...Group) ([]Origin, error) {
	l := newLoader(groups)
	env := variables(from.Env)
	from.File = cmp.Or(from.File, env[fileVariable])
	if from.File != "" {
		l.file(from.File)
	}
	l.environment(env)
	l.flags(from.Flags)
	for _, g := range groups {
		if g.Check != nil {
			g.Check(&Check{l, g.Name})
		}
	}
	if len(l.problems) > 0 {
		return nil, andon.Errorf(andon.Invalid, "%s", strings.Join(l.problems, "\n"))
	}
	return l.origins(), nil
}
