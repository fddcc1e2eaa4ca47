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
	if !m.Selects("d", "plant-1/hall-2") || m.Selects("d", "plant-2") || m.Selects("d") ||
		m.Selects("d", "plant-1", "plant-2") {
		t.Error("it is about plant-1 and all that is in it, and about nothing else")
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

// TestMaintenanceByTheClock: what the clock shows twice happens the first time, what it leaves out
// happens at the change, and a day without a midnight has its other hours.
func TestMaintenanceByTheClock(t *testing.T) {
	for _, c := range []struct{ zone, rule, start, first, second string }{
		{"Europe/Berlin", "DAILY", "2026-10-23T00:30:00Z", // at 02:30
			"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"Europe/Berlin", "DAILY", "2026-10-25T01:30:00Z", // the second one
			"2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"},
		{"Europe/Berlin", "DAILY", "2027-03-27T01:30:00Z",
			"2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"},
		{"America/New_York", "DAILY", "2027-03-13T07:30:00Z",
			"2027-03-14T07:00:00Z", "2027-03-15T06:30:00Z"},
		{"America/Santiago", "DAILY", "2027-08-20T18:00:00Z",
			"2027-09-05T17:00:00Z", "2027-09-06T17:00:00Z"},
		{"America/Santiago", "WEEKLY;BYDAY=SU", "2027-08-29T18:00:00Z",
			"2027-09-05T17:00:00Z", "2027-09-12T17:00:00Z"},
		{"Europe/Berlin", "DAILY;UNTIL=20270329T003000Z", "2027-03-27T01:30:00Z",
			"2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"},
		{"Europe/Berlin", "DAILY;UNTIL=20270329T023000", "2027-03-27T01:30:00Z",
			"2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"},
	} {
		is, err := people.Decode(people.Maintenances, "m", andon.JSON(`{"prefix": "p",
			"start": "`+c.start+`", "length": "1h",
			"rrule": "FREQ=`+c.rule+`", "zone": "`+c.zone+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		m := is.(*people.Maintenance)
		first, end := m.Window(instant(t, c.first) - 1)
		second, last := m.Window(end)
		if first.String() != c.first || second.String() != c.second {
			t.Errorf("%v: it is at %s and %s", c, first, second)
		}
		span := andon.Span{From: first, To: second + 1}
		if all := m.Within(span); len(all) != 2 || all[0].From != first || all[1].From != second {
			t.Errorf("%v: %v", c, all)
		}
		if next, _ := m.Window(last); strings.Contains(c.rule, "UNTIL") != (next == 0) {
			t.Errorf("%v: after the last one is %s", c, next)
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
		{`"length": "1h", "rrule": "FREQ=WEEKLY;BYDAY=MO"`, // the start does not fit it
			"2026-03-01T00:00:00Z", "2026-03-31T00:00:00Z",
			"2026-03-22T05:00:00Z 2026-03-23T05:00:00Z 2026-03-30T05:00:00Z"},
		{`"length": "1h", "rrule": "FREQ=WEEKLY;BYDAY=MO;COUNT=2"`,
			"2026-03-01T00:00:00Z", "2026-06-01T00:00:00Z",
			"2026-03-22T05:00:00Z 2026-03-23T05:00:00Z"},
		{`"length": "1h", "rrule": "FREQ=WEEKLY;BYDAY=MO;COUNT=1"`,
			"2026-03-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-03-22T05:00:00Z"},
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
		if begin, _ := m.Window(m.Start); begin != m.Start {
			t.Errorf("%s: at its start, the window begins at %s", c.rest, begin)
		}
	}
}

// TestQuietUntil: quiet hours end where no others follow, by the clock of the zone.
func TestQuietUntil(t *testing.T) {
	for _, c := range []struct{ quiet, zone, at, end string }{
		{"22:00-06:00", "", "2026-11-27T21:59:59Z", ""},
		{"22:00-06:00", "", "2026-11-27T22:00:00Z", "2026-11-28T06:00:00Z"},
		{"22:00-06:00", "", "2026-11-28T05:59:59Z", "2026-11-28T06:00:00Z"},
		{"22:00-06:00", "", "2026-11-28T06:00:00Z", ""},
		{"22:00-06:00", "Asia/Kolkata", "2026-11-27T16:30:00Z", "2026-11-28T00:30:00Z"},
		{"22:00-06:00", "Europe/Berlin", "2026-03-28T21:00:00Z", "2026-03-29T04:00:00Z"},
		{"22:00-06:00", "Europe/Berlin", "2026-10-24T20:00:00Z", "2026-10-25T05:00:00Z"},
		{"02:30-03:30", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"},
		{"mon-fri 22:00-06:00", "", "2026-11-27T23:00:00Z", "2026-11-28T06:00:00Z"}, // a Friday
		{"mon-fri 22:00-06:00", "", "2026-11-28T23:00:00Z", ""},
		{"mon-fri 22:00-06:00", "", "2026-11-30T05:00:00Z", ""},
		{"sat 12:00-24:00", "", "2026-11-28T12:00:00Z", "2026-11-29T00:00:00Z"},
		{"sat,sun 00:00-24:00", "Europe/Berlin", "2026-11-28T11:00:00Z", "2026-11-29T23:00:00Z"},
		{"mon-sat 00:00-24:00", "", "2026-11-23T00:00:00Z", "2026-11-29T00:00:00Z"},
		{"22-06", "", "2026-11-27T23:00:00Z", ""},
	} {
		p, end := people.Person{Quiet: c.quiet, QuietSeverity: 64, Zone: c.zone}, ""
		until, is := p.QuietUntil(63, instant(t, c.at))
		if is {
			end = until.String()
		}
		if end != c.end {
			t.Errorf("%s %s at %s: until %q, not %q", c.quiet, c.zone, c.at, end, c.end)
		}
		if _, is := p.QuietUntil(64, instant(t, c.at)); is {
			t.Errorf("%s %s at %s: what is severe waits", c.quiet, c.zone, c.at)
		}
	}
}

func TestMatchFits(t *testing.T) {
	s := people.Subject{
		Device: "press-7", Groups: []andon.Group{"plant-2", "plant-1/line-3"},
		State: "WARNING2", Severity: 48,
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
