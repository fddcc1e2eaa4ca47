package people_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestFarDates: who is on call in centuries is found at once.
func TestFarDates(t *testing.T) {
	for turn, layers := range map[string]int{"1h": 2, "1d": 1, "7d": 1} {
		layer := fmt.Sprintf(`{"people": ["Liz", "Tom"], "from": "2026-01-01", "turn": %q,
			"hand_over": "06:00"}`, turn)
		is, err := people.Decode(people.Schedules, "s", andon.JSON(`{"zone": "Europe/Berlin",
			"layers": [`+strings.Repeat(layer+",", layers-1)+layer+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		roster, err := is.(*people.Schedule).Roster()
		if err != nil {
			t.Fatal(err)
		}
		at := instant(t, "9000-01-01T00:00:00Z")
		began := time.Now()
		shift := roster.OnCall(at)
		if shift.Person == "" || shift.To <= at || len(roster.Shifts(at, at.Add(1), 10)) != 1 {
			t.Errorf("%s: %+v", turn, shift)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %s", turn, took)
		}
	}
}

// TestOneForEver: where nobody else is ever on call, nothing is looked through.
func TestOneForEver(t *testing.T) {
	is, err := people.Decode(people.Schedules, "s", `{"zone": "UTC", "layers": [
		{"people": ["Liz"], "from": "2026-01-01", "turn": "1h", "hand_over": "06:00"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	roster, err := is.(*people.Schedule).Roster()
	if err != nil {
		t.Fatal(err)
	}
	from, to := instant(t, "2025-12-31T00:00:00Z"), instant(t, "2027-01-01T00:00:00Z")
	all := roster.Shifts(from, to, 10)
	if len(all) != 2 || all[1].Person != "Liz" || all[1].To != to {
		t.Errorf("%+v", all)
	}
	if is := roster.OnCall(to); is.Person != "Liz" || is.To != 0 {
		t.Errorf("%+v", is)
	}
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
