package records_test

import (
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
)

// TestWindowsOfAClockSetBack: which windows are open is worked out again after the clock was ahead.
func TestWindowsOfAClockSetBack(t *testing.T) {
	const hour, start = andon.Duration(60 * 60 * 1_000_000), andon.Time(1_800_000_000_000_000)
	known := &people.Known{Maintenance: []people.Maintenance{{
		Name: "w", Start: start, Length: hour, Rule: "FREQ=DAILY",
	}}}
	var c records.Calendars
	for _, at := range []struct {
		after andon.Duration
		open  bool
	}{
		{hour / 2, true}, {-2 * hour, false}, {hour / 2, true}, {2 * hour, false},
		{hour / 2, true}, {24*hour + hour/2, true}, {2 * hour, false},
	} {
		if open := c.Open("t", known, start.Add(at.after)); (len(open) == 1) != at.open {
			t.Errorf("%v after the start: %+v", at.after, open)
		}
	}
}
