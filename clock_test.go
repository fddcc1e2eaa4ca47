package andon_test

import (
	"testing"

	"github.com/andonhq/andon"
)

// TestClockMark lets clocks run, jump, be set back and be restarted, and says what is believed.
func TestClockMark(t *testing.T) {
	const hour = andon.Duration(3_600_000_000)
	const month, restart = 30 * 24 * hour, -1
	start := andon.MinTime.Add(1000 * 24 * hour)
	type look struct {
		clock    andon.Duration // after start
		passed   andon.Duration
		believed andon.Duration // after start
	}
	for name, looks := range map[string][]look{
		"it runs":     {{0, 0, 0}, {hour, hour, hour}, {50 * hour, 49 * hour, 50 * hour}},
		"small steps": {{0, 0, 0}, {hour / 2, 0, hour / 2}, {hour / 4, 0, hour / 2}},
		"it jumps and is set back": {
			{0, 0, 0}, {month, 0, 0}, {month + 9*hour, 9 * hour, 9 * hour},
			{10 * hour, hour, 10 * hour}, {40 * hour, 30 * hour, 40 * hour},
		},
		"it jumps and stands": {
			{0, 0, 0}, {month, 0, 0}, {month + 23*hour, 23 * hour, 23 * hour},
			{month + 24*hour, hour, month + 24*hour},
		},
		"it jumps again": {
			{0, 0, 0}, {month, 0, 0}, {2 * month, 23 * hour, 23 * hour},
			{2*month + 23*hour, 23 * hour, 46 * hour}, {2*month + 24*hour, hour, 2*month + 24*hour},
		},
		"it is set back in part": {
			{0, 0, 0}, {month, 0, 0}, {month / 2, hour, hour}, {month/2 + hour, hour, 2 * hour},
		},
		"it jumps while stopped": {
			{0, 0, 0}, {month, restart, 0}, {month + 2*hour, 2 * hour, 2 * hour},
			{month + 3*hour, restart, 2 * hour}, {month + 25*hour, 22 * hour, month + 25*hour},
		},
		"a night stopped": {{0, 0, 0}, {14 * hour, restart, 14 * hour}},
		"jumps by days over restarts": {
			{0, 0, 0}, {25 * hour, restart, 0}, {50 * hour, restart, 0}, {75 * hour, restart, 0},
		},
	} {
		var m andon.ClockMark
		for i, l := range looks {
			m = m.Look(start.Add(l.clock), l.passed)
			if want := start.Add(l.believed); m.Believed != want {
				t.Errorf("%s, look %d: believed is %s, want %s", name, i, m.Believed, want)
			}
		}
	}
	m := andon.ClockMark{}.Look(start, 0).Look(start.Add(month), 0).Confirm(start.Add(month))
	if m.Believed != start.Add(month) || m.Doubted != 0 {
		t.Errorf("confirmed: %+v", m)
	}
}
