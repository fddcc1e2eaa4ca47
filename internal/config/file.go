package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/andonhq/andon/internal/spell"
)

// file takes the settings of a YAML file. A group is a mapping ("log:" and below it "level:") or is
// written with a dot ("log.level:").
func (l *loader) file(path string) {
	f, err := os.Open(path)
	if err != nil {
		l.problem(path, "open the file: %s", reason(err))
		return
	}
	defer f.Close()
	root, err := onlyDocument(f)
	if err != nil {
		l.problems = append(l.problems, located(path, err))
		return
	}
	if root != nil {
		l.mapping(path, "", root)
	}
}

// reason strips the path from an error of the file system: the place says it already.
func reason(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// onlyDocument returns the one document of a YAML text; nil where there is none.
func onlyDocument(r io.Reader) (*yaml.Node, error) {
	var first, second yaml.Node
	d := yaml.NewDecoder(r)
	if err := d.Decode(&first); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := d.Decode(&second); err != io.EOF {
		return nil, fmt.Errorf("yaml: line %d: a second document begins; there can be only one",
			second.Line)
	}
	return first.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// located turns an error of the YAML decoder into "path:line: what".
func located(path string, err error) string {
	text := err.Error()
	place := path
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		if m[1] != "" {
			place += ":" + m[1]
		}
	}
	return place + ": " + text
}

// mapping takes the settings of a mapping whose keys are below group.
func (l *loader) mapping(path, group string, m *yaml.Node) {
	if m.Kind != yaml.MappingNode {
		if m.Tag != "!!null" { // a file of comments only
			l.problem(placeOf(path, m), "expected keys and values (key: value)")
		}
		return
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		l.entry(path, group, m.Content[i], m.Content[i+1])
	}
}

func (l *loader) entry(path, group string, key, value *yaml.Node) {
	name := join(group, key.Value)
	place := placeOf(path, key)
	s, known := l.byKey[name]
	switch {
	case !known && l.isGroup(name):
		l.mapping(path, name, value)
	case !known:
		l.problem(place, "%q is not a setting%s", name, l.nearKey(name))
	case l.places[name] != "":
		l.problem(place, "%s is set twice, first at %s", name, l.places[name])
	case s.Value.read != nil:
		l.places[name] = place
		l.problems = append(l.problems, s.Value.read(path, value)...)
	case value.Kind == yaml.SequenceNode && s.Value.list:
		l.items(s, value, place, name)
	case value.Kind != yaml.ScalarNode:
		l.problem(place, "%s takes one value", name)
	case value.Tag == "!!null":
		l.problem(place, "%s has no value", name)
	default:
		l.set(s, value.Value, place, name)
	}
}

// items takes a setting that is written as a list of YAML.
func (l *loader) items(s Setting, list *yaml.Node, place, name string) {
	var texts []string
	for _, item := range list.Content {
		if item.Kind != yaml.ScalarNode {
			l.problem(place, "%s is a list of single values", name)
			return
		}
		texts = append(texts, item.Value)
	}
	l.set(s, strings.Join(texts, ","), place, name)
}

func placeOf(path string, n *yaml.Node) string { return fmt.Sprintf("%s:%d", path, n.Line) }

func (l *loader) isGroup(name string) bool {
	return slices.ContainsFunc(l.settings, func(s Setting) bool {
		return strings.HasPrefix(s.Key, name+".")
	})
}

// nearKey proposes a key, or where the name is a group's, the group.
func (l *loader) nearKey(name string) string {
	var names []string
	for _, s := range l.settings {
		names = append(names, s.Key)
		if group, _, ok := strings.Cut(s.Key, "."); ok {
			names = append(names, group)
		}
	}
	return spell.DidYouMean(name, names)
}
