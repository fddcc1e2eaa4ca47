package lint

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// weightPage holds the table of how many lines each package has and may have.
const weightPage = "ARCHITECTURE.md"

func weightRules() []Rule {
	return []Rule{{
		Name: "packages weigh what " + weightPage + " allows",
		Mend: "delete what is not needed any more, or let a library do it; a package that has to " +
			"grow gets a larger number there, in a commit that says why",
		Find: overweight,
	}}
}

// budget is a row of the table: "| `internal/app` | 1234 | 1300 |".
var budget = regexp.MustCompile("^\\| `([^`]+)` \\| (\\d+) \\| (\\d+) \\|$")

// weights returns the lines of Go that each package has outside tests; the root is ".".
func (t *Tree) weights() map[string]int {
	lines := map[string]int{}
	for _, f := range t.program() {
		name := cmp.Or(f.Dir, ".")
		lines[name] += len(f.Lines)
	}
	return lines
}

// overweight also finds rows that are out of date: those of packages that are gone, and those that
// are off by more than a fifth.
func overweight(t *Tree) (found []Problem) {
	lines := t.weights()
	for _, text := range t.Texts {
		if text.Path != weightPage {
			continue
		}
		for i, line := range text.Lines {
			m := budget.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			has := lines[m[1]]
			said, _ := strconv.Atoi(m[2])
			most, _ := strconv.Atoi(m[3])
			delete(lines, m[1])
			switch {
			case has > most:
				found = append(found, Problem{text.Path, i + 1,
					fmt.Sprintf("%s has %d lines, and may have %d", m[1], has, most)})
			case max(has-said, said-has) > max(has/5, 100):
				found = append(found, Problem{text.Path, i + 1,
					fmt.Sprintf("%s has %d lines: make update writes it", m[1], has)})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		found = append(found, Problem{weightPage, 0,
			fmt.Sprintf("%s has %d lines, and no row in the table", name, lines[name])})
	}
	return found
}

// Weigh returns a page with the present lines of each package in its table.
func Weigh(t *Tree, page string) string {
	weights := t.weights()
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		if m := budget.FindStringSubmatch(line); m != nil {
			lines[i] = fmt.Sprintf("| `%s` | %d | %s |", m[1], weights[m[1]], m[3])
		}
	}
	return strings.Join(lines, "\n")
}
