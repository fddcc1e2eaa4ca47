package people_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
)

// TestHistory: what the log has of a device, and which incidents were seen, as "since-until worst
// count" of each incident, newest first. An entry is a time and the first letter of its state, an
// incident that was seen is the time of its newest entry, with when it began before it, unless that
// is the same.
func TestHistory(t *testing.T) {
	states, err := andon.NewStateSet([]andon.StateDef{
		{Name: "N"}, {Name: "W", Severity: 48}, {Name: "X", Severity: 80},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, log, seen, want string }{
		{"one", "1W 5N", "1", "1-5 48 1 seen1"},
		{"one that is open", "1W 2X 3W", "3!", "1-0 80 3 seen3"},
		{"a late entry opens earlier", "1W 2W 5N", "2", "1-5 48 2 seen2"},
		{"a late entry closes earlier", "1W 3N 5N", "1", "1-3 48 1 seen1"},
		{"one that nobody saw", "1W 3N", "", "1-3 48 1 late"},
		{"split", "1W 2N 3W 5N", "1", "3-5 48 1 late, 1-2 48 1 seen1"},
		{"split, and the newer part is known", "1W 2N 3W", "3!", "3-0 48 1 seen3, 1-2 48 1 late"},
		{"joined", "1W 3W 4W 5N", "1 4", "1-5 48 3 seen1+seen4"},
		{"joined with one that is open", "1W 3W 4W", "1 4!", "1-0 48 3 seen1+seen4"},
		{"untrue by now", "1N 2N", "1", ""},
		{"untrue by now and open: people decide", "1N 2N", "1!", "1-0 0 0 seen1"},
		{"one that the feed is about to bring", "1W", "", ""},
		{"one that has ended just now", "29999990W 29999999N", "", ""},
		{"the newest state is normal by now", "1W 3N 5N", "1-3", "1-3 48 1 seen1-3"},
		{"it alone was not normal, and the one before is not", "1W 3N 5N", "3!", "1-3 48 1 seen3"},
		{"the newer states are normal by now", "1W 3N 4N 5N", "3-4", "1-3 48 1 seen3-4"},
		{"the newest and one within are", "1W 2N 3X 4N 5N", "1-4",
			"3-4 80 1 seen1-4, 1-2 48 1 late"},
		{"all but one before are, and one after it is seen", "1W 2N 3N 4W", "1-3 4!",
			"4-0 48 1 seen4, 1-2 48 1 seen1-3"},
		{"the one before it is not normal by now", "1W 3W 5N", "3", "1-5 48 2 seen3"},
		{"what ended it is not", "1W 3W 5N", "1 3", "1-5 48 2 seen1+seen3"},
		{"the state of one before is normal by now", "1N 3W 5N", "1 3", "3-5 48 1 seen3"},
		{"expired in the log", "11W 12N", "5 11", "11-12 48 1 seen11, 5-0 0 0 seen5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log []people.Logged
			for _, text := range strings.Fields(c.log) {
				var e people.Logged
				if _, err := fmt.Sscanf(text, "%d%s", &e.Time, &e.State); err != nil {
					t.Fatal(err)
				}
				log = append(log, e)
			}
			var seen []people.Incident
			for _, text := range strings.Fields(c.seen) {
				in := people.Incident{Ended: 100}
				if strings.HasSuffix(text, "!") {
					in.Ended = 0
				}
				id := strings.TrimSuffix(text, "!")
				began, at, several := strings.Cut(id, "-")
				if !several {
					at = began
				}
				_, err := fmt.Sscan(began+" "+at, &in.Since, &in.Opened)
				if in.ID, in.Entry.Time = "seen"+id, in.Opened; err != nil {
					t.Fatal(err)
				}
				seen = append(seen, in)
			}
			from := andon.Time(0)
			if len(log) > 0 && log[0].Time > 10 {
				from = 10
			}
			runs := people.Runs(log, states)
			var got []string
			for _, in := range people.History("d", runs, seen, from, 30_000_000) {
				if device, at, late := people.ParseLateID(in.ID); late != in.Late {
					t.Errorf("%+v", in)
				} else if late && device == "d" && at == in.Since {
					in.ID = "late"
				}
				got = append(got, fmt.Sprintf("%d-%d %d %d %s", int64(in.Since), int64(in.Until),
					in.Worst, in.Count, strings.Join(append([]string{in.ID}, in.Joined...), "+")))
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// TestJoined: what was done about one of two that a withdrawal made one was done about both.
func TestJoined(t *testing.T) {
	runs := []people.Run{{Since: 1, Until: 9, Worst: 48, Count: 3}}
	for _, at := range []int{0, 1} {
		two := []people.Incident{{ID: "a", Opened: 1, Ended: 5}, {ID: "b", Opened: 6, Ended: 10}}
		two[0].Entry.Time, two[1].Entry.Time = 1, 6
		two[at].TakenBy, two[at].Acknowledged = "Liz", &people.Acknowledgement{By: "Liz"}
		all := people.History("d", runs, two, 0, 30_000_000)
		if len(all) != 1 || all[0].ID != "a" || all[0].Ended != 10 || all[0].TakenBy != "Liz" ||
			all[0].Acknowledged == nil {
			t.Errorf("%+v", all)
		}
	}
}
