package documents_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	ics "github.com/arran4/golang-ical"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/golden"
	"github.com/andonhq/andon/internal/httpapi/documents"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/store/memstore"
)

// line3 has day shifts of a week's turn, somebody for the nights from April on, and an override.
const line3 = `{"zone": "Europe/Berlin", "layers": [
	{"people": ["Liz", "Tom; the, \"tall\" one"], "from": "2026-03-02", "turn": "7d",
	 "hand_over": "06:00", "hours": ["mon-fri 06:00-22:00", "mon-thu 22:00-06:00"]},
	{"people": ["Sara"], "from": "2026-04-01", "turn": "1d", "hand_over": "06:00"}],
	"overrides": [{"from": "2026-03-31T10:00:00Z", "to": "2026-04-01T10:00:00Z",
	"person": "Liz", "reason": "Tom: a\\b,\n\u0007 a very long reason, because Tömé is away with` +
	` all of his family and nobody else can come"}]}`

func at(t *testing.T, text string) andon.Time {
	t.Helper()
	when, err := andon.ParseTime(text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

// kept keeps a schedule.
func kept(t *testing.T, schedule string) *records.Documents {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { store.Close() })
	d := records.NewDocuments(store, func() andon.Time { return 1 })
	var all []records.Change
	for name, text := range map[string]andon.JSON{
		"Liz": "{}", `Tom; the, "tall" one`: "{}", "Sara": "{}", "line-3": andon.JSON(schedule),
	} {
		kind := people.Persons
		if name == "line-3" {
			kind = people.Schedules
		}
		all = append(all, records.Change{Kind: kind, Document: records.Document{
			Name: name, Data: text,
		}})
	}
	if _, err := d.PutAll(t.Context(), andon.DefaultTenant, all, false); err != nil {
		t.Fatal(err)
	}
	return d
}

// events reads a calendar, without what differs each time.
func events(t *testing.T, d *records.Documents, now string) (text string, all []*ics.VEvent) {
	t.Helper()
	is, err := d.Get(t.Context(), andon.DefaultTenant, people.Schedules, "line-3")
	if err == nil {
		text, err = documents.Calendar(&is, andon.DefaultTenant, at(t, now))
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n") {
		if len(line) > 75 || strings.ContainsAny(line, "\r\n\a") {
			t.Fatalf("a line that is longer than 75 bytes, or broken: %.200q", line)
		}
	}
	c, err := ics.ParseCalendar(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return text, c.Events()
}

// TestCalendar compares the calendar of a month with a change of the clocks with what was checked
// by hand. A library that others wrote reads it in package test.
func TestCalendar(t *testing.T) {
	d := kept(t, line3)
	text, all := events(t, d, "2026-03-25T12:00:00Z")
	golden.File(t, "testdata/calendar.ics", text)
	for i, e := range all {
		begin, err1 := e.GetStartAt()
		end, err2 := e.GetEndAt()
		if err1 != nil || err2 != nil || !begin.Before(end) {
			t.Errorf("event %d: %s to %s, %v, %v", i, begin, end, err1, err2)
		}
		if next := min(i+1, len(all)-1); next > i {
			if after, _ := all[next].GetStartAt(); !after.Equal(end) {
				t.Errorf("event %d ends at %s, the next begins at %s", i, end, after)
			}
		}
	}
}

// TestCalendarAsTimePasses: a shift has the same UID, begin and end in all calendars that have it.
func TestCalendarAsTimePasses(t *testing.T) {
	const hour = 3_600_000_000
	d := kept(t, line3)
	stamp := regexp.MustCompile(`DTSTAMP:\S+`)
	known := map[string]string{}
	end := at(t, "2026-06-01")
	for now := at(t, "2026-03-25T12:00:00Z"); now < end; now = now.Add(31 * hour) {
		_, all := events(t, d, now.String())
		var ids []string
		for i, e := range all {
			if e.Id() == all[0].Id() && i > 0 {
				t.Fatalf("at %s two events are %s", now, e.Id())
			}
			ids = append(ids, e.Id())
			text := stamp.ReplaceAllString(e.Serialize(&ics.SerializationConfiguration{
				MaxLength: 75, PropertyMaxLength: 75, NewLine: "\r\n",
			}), "")
			if was := known[e.Id()]; was != "" && was != text {
				t.Fatalf("at %s %s is\n%s\nand was\n%s", now, e.Id(), text, was)
			}
			known[e.Id()] = text
		}
		if slices.Sort(ids); len(slices.Compact(ids)) != len(all) {
			t.Fatalf("at %s two events have one UID", now)
		}
	}
}

// TestCalendarWithoutEnd: one person who is always on call is one event, also years later.
func TestCalendarWithoutEnd(t *testing.T) {
	d := kept(t, `{"layers": [
		{"people": ["Liz"], "from": "2020-01-01", "turn": "1d", "hand_over": "06:00"}]}`)
	ids := map[string]bool{}
	for _, now := range []string{"2026-03-25T12:00:00Z", "2026-04-25T12:00:00Z"} {
		_, all := events(t, d, now)
		if len(all) != 1 {
			t.Fatalf("%d events", len(all))
		}
		ids[all[0].Id()] = true
		begin, _ := all[0].GetStartAt()
		end, _ := all[0].GetEndAt()
		if end.Sub(begin) != 120*24*time.Hour {
			t.Errorf("from %s to %s", begin, end)
		}
	}
	if len(ids) != 1 {
		t.Errorf("it is %v", ids)
	}
}
