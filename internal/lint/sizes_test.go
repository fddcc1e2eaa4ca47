package lint_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sizePage has the table of how many lines of Go each package has outside tests, in rows such as
// "| `internal/app` | 1234 |".
const sizePage = "ARCHITECTURE.md"

// mostLines is how many lines a package may have, whatever the table says.
const mostLines = 4500

var sizeRow = regexp.MustCompile("^\\| `([^`]+)` \\| (\\d+) \\|$")

func (t tree) sizes() map[string]int {
	sizes := map[string]int{}
	for name, lines := range t.program() {
		sizes[path.Dir(name)] += len(lines)
	}
	return sizes
}

// wrongSizes also finds packages that are smaller than the table says, since what was removed could
// grow back, and rows of packages that are gone.
func wrongSizes(t tree) (found []string) {
	sizes := t.sizes()
	for i, line := range t[sizePage] {
		m := sizeRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		has, most := sizes[m[1]], number(m[2])
		delete(sizes, m[1])
		if most > mostLines != slices.Contains(tooLarge, m[1]) {
			found = append(found, problem(sizePage, i+1,
				"%s: %d is more than %d lines: divide it; or it is not: take it out of tooLarge",
				m[1], most, mostLines))
		} else if has != most {
			found = append(found, problem(sizePage, i+1, "%s has %d lines, and may have %d",
				m[1], has, most))
		}
	}
	for name, has := range sizes {
		found = append(found, problem(sizePage, 1, "%s has %d lines, and no row", name, has))
	}
	return found
}

// tooLarge are the packages that are still to be divided.
var tooLarge []string

func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// TestSizePage writes lower limits of the packages that became smaller, with -update. TestRules
// compares them.
func TestSizePage(t *testing.T) {
	if !*update {
		t.Skip("it only updates " + sizePage)
	}
	sizes, lines := repository(t).sizes(), []string{}
	for _, line := range repository(t)[sizePage] {
		if m := sizeRow.FindStringSubmatch(line); m != nil {
			if sizes[m[1]] == 0 {
				continue
			}
			line = fmt.Sprintf("| `%s` | %d |", m[1], min(number(m[2]), sizes[m[1]]))
		}
		lines = append(lines, line)
	}
	text := strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile("../../"+sizePage, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFunctionsAreShort holds the whole program to what one function can't be held to.
func TestFunctionsAreShort(t *testing.T) {
	var lengths []int
	for _, lines := range repository(t).program() {
		start := -1
		for i, line := range lines {
			if strings.HasPrefix(line, "func ") {
				start = i
			}
			if start >= 0 && (line == "}" || start == i && strings.HasSuffix(line, "}")) {
				lengths, start = append(lengths, i-start+1), -1
			}
		}
	}
	slices.Sort(lengths)
	percentile := func(percent int) int { return lengths[(len(lengths)-1)*percent/100] }
	t.Logf("%d functions; lines: half up to %d, 9 in 10 up to %d, 99 in 100 up to %d",
		len(lengths), percentile(50), percentile(90), percentile(99))
	if percentile(50) > 15 || percentile(90) > 45 {
		t.Error("Half of the functions have at most 15 lines, 9 in 10 at most 45.")
	}
}
