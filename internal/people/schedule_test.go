package people_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/golden"
	"github.com/andonhq/andon/internal/people"
)

func instant(t *testing.T, text string) andon.Time {
	t.Helper()
	at, err := andon.ParseTime(text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestShifts compares the shifts of schedules in testdata/shifts with what was checked by hand. The
// first line of a file is the span.
func TestShifts(t *testing.T) {
	files, err := filepath.Glob("testdata/shifts/*.json")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			span, body, _ := strings.Cut(string(text), "\n")
			from, to, _ := strings.Cut(span, " ")
			is, err := people.Decode(people.Schedules, "s", andon.JSON(body))
			if err != nil {
				t.Fatal(err)
			}
			roster, err := is.(*people.Schedule).Roster()
			if err != nil {
				t.Fatal(err)
			}
			shown := ""
			for _, s := range roster.Shifts(instant(t, from), instant(t, to), 100) {
				gap := ""
				if s.Gap {
					gap = " gap"
				}
				shown += fmt.Sprintf("%s %s %q layer %d%s\n", s.From, s.To, s.Person, s.Layer, gap)
				for _, at := range []andon.Time{s.From, s.To - 1} { // the same, asked one by one
					if got := roster.OnCall(at); got.Person != s.Person || got.Gap != s.Gap {
						t.Errorf("at %s: %+v, not %+v", at, got, s)
					}
				}
			}
			golden.File(t, strings.TrimSuffix(name, ".json")+".golden", shown)
		})
	}
}
