// Package lint is the rules of this house as functions over its parsed files. Its tests run them on
// the repository, and each on a few lines that break it.
//
// A rule reads syntax only: it knows no types, runs nothing, and must not know what a package is
// for. What needs types is the linter's, see .golangci.yml.
package lint

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is one rule of the house.
type Rule struct {
	Name string // what holds where it is kept
	Mend string // what to do where it is broken
	Find func(*Tree) []Problem
	// Except are the places that may break it. One that nothing breaks any more
	// is a problem itself.
	Except []Exception
}

// Exception lets a place break a rule.
type Exception struct {
	Path string // of a file, or of a directory where it ends in a slash
	Text string // part of the problem's text; empty is any
	Why  string
}

// Problem is one place that breaks a rule.
type Problem struct {
	Path string
	Line int // 0 where the whole file is meant
	Text string
}

// String returns the problem as compilers give it: "path:line: text".
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text)
}

// Rules returns all rules.
func Rules() []Rule {
	return slices.Concat(
		importRules(), engineRules(), wordRules(), sizeRules(),
		textRules(), weightRules(),
	)
}

// Check returns what breaks a rule in a tree, by place, and the exceptions that nothing needs.
func Check(t *Tree, r Rule) (problems []Problem, stale []Exception) {
	needed := make([]bool, len(r.Except))
	for _, p := range r.Find(t) {
		i := slices.IndexFunc(r.Except, func(e Exception) bool { return e.covers(p) })
		if i >= 0 {
			needed[i] = true
			continue
		}
		problems = append(problems, p)
	}
	for i, e := range r.Except {
		if !needed[i] {
			stale = append(stale, e)
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return problems, stale
}

func (e Exception) covers(p Problem) bool {
	there := p.Path == e.Path || strings.HasSuffix(e.Path, "/") && strings.HasPrefix(p.Path, e.Path)
	return there && strings.Contains(p.Text, e.Text)
}
