package people_test

import (
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
)

// bad are documents that are refused: the kind, the document, and the place of the fault.
const bad = `
policies     {"match": {}, "steps": []}                                                body.steps
policies     {"steps": [{"after": "0s", "to": "operator"}]}                            body.match
policies     {"match": {}, "steps": [{"after": "0s", "to": ""}]}                       body.steps[0].to
policies     {"match": {}, "steps": [{"after": "0s", "to": "nobody"}]}                 body.steps[0].to
policies     {"match": {}, "steps": [{"after": "0s", "to": "schedule"}]}               body.steps[0].to
policies     {"match": {}, "steps": [{"after": "0s", "to": "operator Liz"}]}           body.steps[0].to
policies     {"match": {}, "steps": [{"after": "soon", "to": "operator"}]}             body.steps[0].after
policies     {"match": {}, "steps": [{"after": "31d", "to": "operator"}]}              body.steps[0].after
policies     {"match": {}, "steps": [{"after": "5m", "to": "operator"}, {"after": "1m", "to": "operator"}]} body.steps[1].after
policies     {"match": {}, "steps": [{"after": "0s", "to": "operator"}], "repeat": 3}  body.every
policies     {"match": {}, "steps": [{"after": "0s", "to": "operator"}], "repeat": -1} body.repeat
policies     {"match": {}, "steps": [{"after": "0s", "to": "operator"}], "stop": "x"}  body.stop
policies     {"match": {}, "steps": [{"after": "0s", "to": "operator"}], "steps": []}  body.steps
policies     {"match": {}, "stepz": []}                                                body.stepz
policies     {"match": {}, "steps": [], "assign": "operator"}                          body.assign
policies     {"match": {"min_severity": 300}, "steps": []}                             body.match.min_severity
policies     {"match": {"hours": "mon"}, "steps": [{"after": "0s", "to": "operator"}]} body.match.hours
policies     {"match": {"zone": "Mars"}, "steps": [{"after": "0s", "to": "operator"}]} body.match.zone
policies     {"match": {"kind": "odd"}, "steps": [{"after": "0s", "to": "operator"}]}  body.match.kind
policies     {"match": {"group": "a//b"}, "steps": [{"after": "0s", "to": "operator"}]} body.match.group
policies     {"match": {"states": ["a,b"]}, "steps": [{"after": "0s", "to": "operator"}]} body.match.states[0]
policies     {"name": "other", "match": {}, "steps": []}                               body.name
schedules    {"layers": []}                                                            body.layers
schedules    {"layers": [{"people": [], "from": "2026-01-01", "turn": "1d", "hand_over": "06:00"}]} body.layers[0].people
schedules    {"layers": [{"people": ["a"], "from": "soon", "turn": "1d", "hand_over": "06:00"}]} body.layers[0].from
schedules    {"layers": [{"people": ["a"], "from": "2026-01-01", "turn": "0s", "hand_over": "06:00"}]} body.layers[0].turn
schedules    {"layers": [{"people": ["a"], "from": "2026-01-01", "turn": "5h", "hand_over": "06:00"}]} body.layers[0].turn
schedules    {"layers": [{"people": ["a"], "from": "2026-01-01", "turn": "1d", "hand_over": "6"}]} body.layers[0].hand_over
schedules    {"layers": [{"people": ["a"], "from": "2026-01-01", "turn": "1d", "hand_over": "06:00", "hours": ["06:00-25:00"]}]} body.layers[0].hours[0]
schedules    {"zone": "Local", "layers": []}                                           body.zone
schedules    {"layers": [{"people": ["a"], "from": "2026-01-01", "turn": "1d", "hand_over": "06:00"}], "overrides": [{"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z", "person": "a"}]} body.overrides[0].to
people       {"zone": "Nowhere"}                                                       body.zone
people       {"quiet": "22-06"}                                                        body.quiet
people       {"contacts": [{"channel": ""}]}                                           body.contacts[0].channel
maintenance  {"start": "2026-01-01T00:00:00Z", "length": "1h"}                         body
maintenance  {"prefix": "p", "start": "2026-01-01T00:00:00Z", "length": "0s"}          body.length
maintenance  {"prefix": "p", "start": "soon", "length": "1h"}                          body.start
maintenance  {"prefix": "p", "start": "2026-01-01T00:00:00Z", "length": "1h", "rrule": "FREQ=SOMETIMES"} body.rrule
maintenance  {"prefix": "p", "start": "2026-01-01T00:00:00Z", "length": "1h", "rrule": "FREQ=MINUTELY"} body.rrule
maintenance  {"prefix": "p", "start": "2026-01-01T00:00:00Z", "length": "1h", "rrule": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31"} body.rrule
maintenance  {"devices": ["a", ""], "start": "2026-01-01T00:00:00Z", "length": "1h"}   body.devices[1]
`

func TestBadDocumentsAreRefusedAtTheirPlace(t *testing.T) {
	for line := range strings.SplitSeq(strings.TrimSpace(bad), "\n") {
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
		if got := m.Covers("d", "plant-1/hall-2", at); got != c.covers {
			t.Errorf("at %s: covers %v", c.at, got)
		}
		if m.Covers("d", "plant-2", at) {
			t.Errorf("at %s: covers another plant", c.at)
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
