package lint_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/andonhq/andon/internal/lint"
)

// repository is the files of the repository, read once.
var repository = sync.OnceValues(func() (*lint.Tree, error) {
	return lint.Parse(os.DirFS("../.."))
})

func tree(t *testing.T) *lint.Tree {
	t.Helper()
	parsed, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestHouse(t *testing.T) {
	for _, r := range lint.Rules() {
		t.Run(r.Name, func(t *testing.T) {
			problems, stale := lint.Check(tree(t), r)
			if len(problems) > 0 {
				t.Errorf("The rule: %s.\nTo mend it: %s.\n%s", r.Name, r.Mend, lines(problems))
			}
			for _, e := range stale {
				t.Errorf("take away the exception for %s (%s): nothing there needs it",
					e.Path, e.Why)
			}
		})
	}
}

func lines(problems []lint.Problem) string {
	var text strings.Builder
	for _, p := range problems {
		text.WriteString("  " + p.String() + "\n")
	}
	return text.String()
}

// TestFunctionsAreShort holds the whole of the program to what one function can't be held to.
func TestFunctionsAreShort(t *testing.T) {
	lengths := lint.FunctionLines(tree(t))
	slices.Sort(lengths)
	at := func(percent int) int { return lengths[(len(lengths)-1)*percent/100] }
	t.Logf("%d functions; lines: half up to %d, 9 in 10 up to %d, 99 in 100 up to %d, "+
		"the longest %d", len(lengths), at(50), at(90), at(99), at(100))
	if at(50) > 15 || at(90) > 45 {
		t.Error("The rule: half of the functions have at most 15 lines, 9 in 10 at most 45.")
	}
}
