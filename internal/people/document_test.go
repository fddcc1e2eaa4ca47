package people_test

import (
	"os"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
)

// The file has documents that are refused: the kind, the document, and the place of the fault.
func TestBadDocumentsAreRefusedAtTheirPlace(t *testing.T) {
	bad, err := os.ReadFile("testdata/bad_documents.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.TrimSpace(string(bad))) {
		line = strings.TrimSpace(line)
		kind, rest, _ := strings.Cut(line, " ")
		last := strings.LastIndexByte(rest, ' ')
		text, place := strings.TrimSpace(rest[:last]), rest[last+1:]
		_, err := people.Decode(people.DocumentKind(kind), "x", andon.JSON(text))
		e, ok := err.(*andon.Error)
		if !ok || len(e.Fields) != 1 || e.Fields[0].Location != place {
			t.Errorf("%s %s: %v, want a fault at %s", kind, text, err, place)
		}
	}
}

func TestMaintenanceFollowsItsZone(t *testing.T) {
	is, err := people.Decode(people.Maintenances, "sunday", `{"group": "plant-1",
		"start": "2026-03-22T05:00:00Z", "length": "2h", "rrule": "FREQ=WEEKLY;BYDAY=SU",
		"zone": "Europe/Berlin"}`)
	if err != nil {
		t.Fatal(err)
	}
	m := is.(*people.Maintenance)
	if !m.Selects("d", "plant-1/hall-2") || m.Selects("d", "plant-2") {
		t.Error("it is about plant-1 and all that is in it")
	}
	for _, c := range []struct {
		at, begin string
		covers    bool
	}{
		{"2026-03-22T04:59:59Z", "2026-03-22T05:00:00Z", false},
		{"2026-03-22T05:00:00Z", "2026-03-22T05:00:00Z", true},
		{"2026-03-22T06:59:59Z", "2026-03-22T05:00:00Z", true},
		{"2026-03-22T07:00:00Z", "2026-03-29T04:00:00Z", false}, // summer time
		{"2026-03-29T05:59:59Z", "2026-03-29T04:00:00Z", true},
		{"2026-11-01T05:30:00Z", "2026-11-01T05:00:00Z", true},
	} {
		at := instant(t, c.at)
		if begin, _ := m.Window(at); begin.String() != c.begin {
			t.Errorf("at %s: begins at %s, not %s", c.at, begin, c.begin)
		}
		if begin, end := m.Window(at); (begin <= at) != c.covers || end <= at {
			t.Errorf("at %s: from %s to %s", c.at, begin, end)
		}
	}
}

// TestMaintenanceInAutumn: what the clock shows twice happens the first time.
func TestMaintenanceInAutumn(t *testing.T) {
	for start, want := range map[string][2]string{
		"2026-10-23T00:30:00Z": {"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}, // at 02:30
		"2026-10-25T01:30:00Z": {"2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"}, // the second one
	} {
		is, err := people.Decode(people.Maintenances, "m", andon.JSON(`{"prefix": "p",
			"start": "`+start+`", "length": "1h", "rrule": "FREQ=DAILY", "zone": "Europe/Berlin"}`))
		if err != nil {
			t.Fatal(err)
		}
		m := is.(*people.Maintenance)
		first, end := m.Window(instant(t, "2026-10-25T00:00:00Z"))
		second, _ := m.Window(end)
		if first.String() != want[0] || second.String() != want[1] {
			t.Errorf("from %s it is at %s and %s, want %s", start, first, second, want)
		}
		span := andon.Span{From: first, To: second + 1}
		if all := m.Within(span); len(all) != 2 || all[0].From != first || all[1].From != second {
			t.Errorf("from %s: %v", start, all)
		}
	}
}

func TestMaintenanceWithin(t *testing.T) {
	for _, c := range []struct{ rest, from, to, want string }{
		{`"length": "2h", "rrule": "FREQ=WEEKLY;BYDAY=SU", "zone": "Europe/Berlin"`,
			"2026-03-22T06:00:00Z", "2026-04-05T04:00:00Z", // one has begun, one has not
			"2026-03-22T05:00:00Z 2026-03-29T04:00:00Z"},
		{`"length": "3d", "rrule": "FREQ=DAILY;COUNT=3"`, // each begins within the one before
			"2026-03-24T06:00:00Z", "2026-04-24T00:00:00Z",
			"2026-03-22T05:00:00Z 2026-03-23T05:00:00Z 2026-03-24T05:00:00Z"},
		{`"length": "1h", "rrule": "FREQ=MONTHLY;UNTIL=20260422", "zone": "Europe/Berlin"`,
			"2026-03-01T00:00:00Z", "2026-06-01T00:00:00Z",
			"2026-03-22T05:00:00Z 2026-04-22T04:00:00Z"},
		{`"length": "2h"`, "2026-03-01T00:00:00Z", "2026-03-29T00:00:00Z", "2026-03-22T05:00:00Z"},
		{`"length": "2h"`, "2026-03-22T07:00:00Z", "2026-03-29T00:00:00Z", ""},
		{`"length": "2h"`, "2026-03-01T00:00:00Z", "2026-03-22T05:00:00Z", ""},
	} {
		is, err := people.Decode(people.Maintenances, "m",
			andon.JSON(`{"prefix": "p", "start": "2026-03-22T05:00:00Z", `+c.rest+`}`))
		if err != nil {
			t.Fatal(err)
		}
		m, got := is.(*people.Maintenance), []string{}
		for _, w := range m.Within(andon.Span{From: instant(t, c.from), To: instant(t, c.to)}) {
			got = append(got, w.From.String())
			if w.To != w.From.Add(m.Length) {
				t.Errorf("%s: it ends at %s", w.From, w.To)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, not %s", c.rest, got, c.want)
		}
	}
}

func TestMatchFits(t *testing.T) {
	s := people.Subject{
		Device: "press-7", Group: "plant-1/line-3", State: "WARNING2", Severity: 48,
		Kind: "absent:heat", At: instant(t, "2026-11-27T21:30:00Z"), // a Friday
	}
	for _, c := range []struct {
		match people.Match
		fits  bool
	}{
		{people.Match{}, true},
		{people.Match{States: []andon.State{"WARNING1", "WARNING2"}}, true},
		{people.Match{States: []andon.State{"WARNING1"}}, false},
		{people.Match{MinSeverity: 48}, true},
		{people.Match{MinSeverity: 49}, false},
		{people.Match{Group: "plant-1"}, true},
		{people.Match{Group: "plant"}, false},
		{people.Match{Prefix: "press-"}, true},
		{people.Match{Prefix: "robot-"}, false},
		{people.Match{Kind: "absent:"}, true},
		{people.Match{Kind: "absent:cold"}, false},
		{people.Match{Kind: people.StateKind}, false},
		{people.Match{Hours: "fri 21:00-05:00"}, true},
		{people.Match{Hours: "sat 21:00-05:00"}, false},
		{people.Match{Hours: "sat 00:00-05:00", Zone: "Asia/Kolkata"}, true},
	} {
		if got := c.match.Fits(&s); got != c.fits {
			t.Errorf("%+v: %v", c.match, got)
		}
	}
}
