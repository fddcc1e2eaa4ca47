package config

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Mappings is a list whose items are mappings with settings of their own, those of group, each with
// another name. In the environment it is written as YAML. Items may hold secrets, so it has no flag
// and is not shown.
func Mappings[T any](to *[]T, group func(*T) Group, name func(*T) string) Value {
	read := func(path string, list *yaml.Node) (problems []string) {
		isEmpty := list.Kind == yaml.ScalarNode && list.Value == "" // as it is shown
		if list.Kind != yaml.SequenceNode && !isEmpty {
			return []string{placeOf(path, list) + ": expected a list (- key: value)"}
		}
		items, names := make([]T, len(list.Content)), map[string]bool{}
		for i, node := range list.Content {
			g := group(&items[i])
			l := newLoader([]Group{g})
			l.whole = placeOf(path, node)
			if l.mapping(path, "", node); g.Check != nil && len(l.problems) == 0 {
				g.Check(&Check{l, g.Name})
			}
			if names[name(&items[i])] {
				l.problem(l.whole, "there are two of the name %s", name(&items[i]))
			}
			names[name(&items[i])] = true
			problems = append(problems, l.problems...)
		}
		*to = items
		return problems
	}
	v := kept(to, "list of mappings", func(text string) ([]T, error) {
		root, err := onlyDocument(strings.NewReader(text))
		if err != nil || root == nil {
			return nil, err
		}
		if problems := read("item", root); problems != nil {
			return nil, errors.New(strings.Join(problems, "; "))
		}
		return *to, nil
	}, func(items []T) string { return fmt.Sprintf("%d", len(items)) })
	v.secret, v.read = true, read
	return v
}

// Pairs is a mapping of texts, or one text alone, which then has the key "". add is called for each
// in the order of the file.
func Pairs(add func(key, value string) error) Value {
	v := kept(new(string), "mapping", func(text string) (string, error) {
		return text, add("", text)
	}, strings.Clone)
	v.read = func(path string, node *yaml.Node) (problems []string) {
		nodes, seen := node.Content, map[string]bool{}
		if node.Kind != yaml.MappingNode {
			nodes = []*yaml.Node{{}, node}
		}
		for i := 0; i+1 < len(nodes); i += 2 {
			key, value := nodes[i].Value, nodes[i+1]
			err := errors.New("expected a text")
			switch {
			case seen[key]:
				err = errors.New("it is there twice")
			case value.Kind == yaml.ScalarNode:
				err = add(key, value.Value)
			}
			if err != nil && key != "" {
				err = fmt.Errorf("%s: %w", key, err)
			}
			if seen[key] = true; err != nil {
				problems = append(problems, fmt.Sprintf("%s: %s", placeOf(path, value), err))
			}
		}
		return problems
	}
	return v
}
