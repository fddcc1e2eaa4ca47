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

// mostLines is how many lines of Go a package may have outside tests, whatever the table says.
const mostLines = 4500

func weightRules() []Rule {
	return []Rule{{
		Name: "packages weigh what " + weightPage + " allows",
		Mend: "delete what is not needed any more, or let a library do it; a package that has to " +
			"grow gets a larger number there, in a commit that says why; make update lowers the " +
			"numbers of those that became smaller",
		Find: overweight,
		Except: []Exception{
			{weightPage, "internal/httpapi: ", "bodies, streams and pages are to leave it"},
			{weightPage, "dynamostore: ", "keys, codecs and layout reference are to leave it"},
			{weightPage, "pebblestore: ", "readings are to use the engine of blocks"},
		},
	}}
}

// budget is a row of the table: "| `internal/app` | 1234 |".
var budget = regexp.MustCompile("^\\| `([^`]+)` \\| (\\d+) \\|$")

// weights returns the lines of Go that each package has outside tests; the root is ".".
func (t *Tree) weights() map[string]int {
	lines := map[string]int{}
	for _, f := range t.program() {
		name := cmp.Or(f.Dir, ".")
		lines[name] += len(f.Lines)
	}
	return lines
}

// overweight also finds packages that have fewer lines than the table says, since what was removed
// would be free to grow back, and rows of packages that are gone.
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
			most, _ := strconv.Atoi(m[2])
			delete(lines, m[1])
			switch {
			case most > mostLines:
				found = append(found, Problem{text.Path, i + 1,
					fmt.Sprintf("%s: %d is more than %d lines: divide it", m[1], most, mostLines)})
			case has != most:
				found = append(found, Problem{text.Path, i + 1,
					fmt.Sprintf("%s has %d lines, and may have %d", m[1], has, most)})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		found = append(found, Problem{weightPage, 0,
			fmt.Sprintf("%s has %d lines, and no row in the table", name, lines[name])})
	}
	return found
}

// Weigh returns a page with lower limits of the packages that became smaller, without rows of those
// that are gone.
func Weigh(t *Tree, page string) string {
	weights := t.weights()
	var lines []string
	for line := range strings.SplitSeq(page, "\n") {
		if m := budget.FindStringSubmatch(line); m != nil {
			most, _ := strconv.Atoi(m[2])
			if weights[m[1]] == 0 {
				continue
			}
			line = fmt.Sprintf("| `%s` | %d |", m[1], min(most, weights[m[1]]))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
