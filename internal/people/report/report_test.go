package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/report"
)

func at(text string) andon.Time {
	t, err := andon.ParseTime("2020-04-24T" + text + "Z")
	if err != nil {
		panic(err)
	}
	return t
}

func incident(id, device, operator, since, until string) report.Incident {
	i := report.Incident{
		ID: id, Device: andon.DeviceID(device), Operator: andon.PersonID(operator),
		Since: at(since),
	}
	if until != "" {
		i.Until = at(until)
	}
	return i
}

func acknowledged(i report.Incident, when string) report.Incident {
	return report.Of(&people.Incident{
		ID: i.ID, Device: i.Device, Operator: i.Operator, Since: i.Since, Opened: i.Since,
		Until: i.Until, Steps: []people.Step{
			{At: i.Since, What: "opened"}, {At: at(when), What: "acknowledged"},
			{At: at(when) + 1e9, What: "acknowledged"}, // once more, after the first expired
		},
	})
}

// TestFiguresOfNothing: lists are empty, and not null.
func TestFiguresOfNothing(t *testing.T) {
	text, err := json.Marshal(report.Make(report.Input{Span: andon.Span{From: 1e15, To: 2e15}}))
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("got %s, %v", text, err)
	}
}

// TestFigures is worked out by hand: two devices for four hours are 28,800 s. press-1 was down from
// 8:00 to 8:30, its last half hour that began before the span, for 600 s, and for 1,200 s; press-2
// for 600 s and from 11:00 on, 3,600 s, of which a second incident overlaps 300 s.
func TestFigures(t *testing.T) {
	got := report.Make(report.Input{
		Span: andon.Span{From: at("08:00:00"), To: at("12:00:00")}, Devices: 2, Per: "operator",
		Incidents: []report.Incident{
			incident("a", "press-1", "Liz", "07:00:00", "08:30:00"),
			acknowledged(incident("b", "press-1", "Liz", "09:00:00", "09:10:00"), "09:01:00"),
			acknowledged(incident("c", "press-1", "Bob", "10:00:00", "10:20:00"), "10:03:00"),
			acknowledged(incident("d", "press-2", "Liz", "10:00:00", "10:10:00"), "10:10:00"),
			incident("e", "press-2", "", "11:00:00", ""),
			incident("f", "press-2", "", "11:05:00", "11:10:00"),
		},
	})
	down := 1800.0 + 600 + 1200 + 600 + 3600
	rows := []client.IncidentRow{
		{Name: "", Incidents: 2, PerHour: 0.5, Seconds: 3900},
		{Name: "Liz", Incidents: 2, PerHour: 0.5, Seconds: 1200},
		{Name: "Bob", Incidents: 1, PerHour: 0.25, Seconds: 1200},
	}
	want := client.IncidentReport{
		From: at("08:00:00"), To: at("12:00:00"), Devices: 2, Incidents: 5, PerHour: 1.25,
		Floods: []client.IncidentFlood{}, Chattering: []andon.DeviceID{}, Stale: []string{},
		Worst: []client.IncidentRow{
			{Name: "press-2", Incidents: 3, PerHour: 0.75, Seconds: 4500},
			{Name: "press-1", Incidents: 2, PerHour: 0.5, Seconds: 1800},
		},
		ToAcknowledge: &client.IncidentTimes{Count: 3, Median: 180, P90: 600},
		ToReturn:      &client.IncidentTimes{Count: 4, Median: 600, P90: 1200},
		Availability:  new((28800 - down) / 28800), MTBF: new((28800 - down) / 5),
		MTTR: new((600.0 + 1200 + 600 + 300) / 4), Rows: rows,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestParts: an hour for which an incident held before, while it stayed open, is no incident more,
// but the device was down.
func TestParts(t *testing.T) {
	is := people.Incident{
		ID: "a", Device: "press-1", Since: at("10:00:00"), Until: at("11:00:00"),
		Before: []people.Run{{Since: at("08:00:00"), Until: at("09:00:00")}},
	}
	got := report.Make(report.Input{
		Span: andon.Span{From: at("08:00:00"), To: at("12:00:00")}, Devices: 1,
		Incidents: append(report.Parts(&is), report.Of(&is)),
	})
	if got.Incidents != 1 || *got.Availability != 0.5 || *got.MTTR != 3600 {
		t.Errorf("%+v", got)
	}
}

// TestRetired: of a device that was retired the time until then counts, in which press-2 was down.
func TestRetired(t *testing.T) {
	got := report.Make(report.Input{
		Span: andon.Span{From: at("08:00:00"), To: at("12:00:00")}, Devices: 1,
		Retired: []andon.Time{at("10:00:00"), at("23:00:00")},
		Incidents: []report.Incident{
			incident("a", "press-2", "", "08:00:00", "10:00:00"),
			incident("b", "press-3", "", "09:00:00", "23:00:00"),
		},
	})
	if got.Devices != 3 || *got.Availability != 0.5 || *got.MTBF != 9000 {
		t.Errorf("%+v", got)
	}
}

// TestFlood: eleven incidents in less than 10 minutes are a flood, ten are none, and eleven in just
// 10 minutes are none.
func TestFlood(t *testing.T) {
	for _, one := range []struct {
		n    int
		step andon.Time // between two
		want []client.IncidentFlood
	}{
		{10, 1e6, nil},
		{11, 60e6, nil},
		{11, 59e6, []client.IncidentFlood{
			{From: at("09:00:00"), To: at("09:09:50"), Incidents: 11},
		}},
		{30, 30e6, []client.IncidentFlood{
			{From: at("09:00:00"), To: at("09:14:30"), Incidents: 30},
		}},
	} {
		in := report.Input{Span: andon.Span{From: at("08:00:00"), To: at("12:00:00")}}
		for i := range one.n {
			is := incident("i", "d", "", "09:00:00", "")
			is.Since += andon.Time(i) * one.step
			in.Incidents = append(in.Incidents, is)
		}
		got := report.Make(in).Floods
		if diff := cmp.Diff(append([]client.IncidentFlood{}, one.want...), got); diff != "" {
			t.Errorf("%d every %d: %s", one.n, one.step, diff)
		}
	}
}

func TestChatteringAndStale(t *testing.T) {
	r := report.Make(report.Input{
		Span: andon.Span{From: at("00:00:00") - 2*86400e6, To: at("12:00:00")}, Per: "hour",
		Incidents: []report.Incident{
			incident("a", "chatters", "", "10:00:00", "10:00:01"),
			incident("b", "chatters", "", "10:00:20", "10:00:21"),
			incident("c", "chatters", "", "10:00:59", "10:01:00"),
			incident("d", "slower", "", "10:00:00", "10:00:01"),
			incident("e", "slower", "", "10:00:20", "10:00:21"),
			incident("f", "slower", "", "11:01:00", "11:01:01"),
			{ID: "g", Device: "stale", Since: at("12:00:00") - 86400e6 - 1},
			{ID: "h", Device: "not yet", Since: at("12:00:00") - 86400e6},
			{ID: "i", Device: "stale too", Since: at("12:00:00") - 86400e6 - 1},
			{ID: "j", Device: "stale too", Since: at("12:00:00") - 86400e6 - 2},
			{ID: "k", Device: "late", Since: at("12:00:00") - 86400e6 - 1},
		},
	})
	if diff := cmp.Diff([]andon.DeviceID{"chatters"}, r.Chattering); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"j", "k", "g", "i"}, r.Stale); diff != "" {
		t.Error(diff)
	}
	if n := len(r.Rows); n != 4 || r.Rows[2].Name != "2020-04-24T10:00:00Z" ||
		r.Rows[2].Incidents != 5 || r.Rows[2].PerHour != 5 || r.Rows[3].Incidents != 1 {
		t.Errorf("the hours are %+v", r.Rows)
	}
	if r.Availability != nil || r.MTBF != nil {
		t.Error("there are figures of devices whose number is not known")
	}
}
