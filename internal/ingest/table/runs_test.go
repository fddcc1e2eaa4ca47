package table_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/table"
)

// imported returns what a mapping makes of a file, an event or a reason a line.
func imported(t *testing.T, o table.Options, m table.Mapping, text string) string {
	t.Helper()
	file, err := opened(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	events, err := file.Events(m)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for item, err := range events {
		e := &item.Value
		if err != nil {
			t.Fatal(err)
		}
		if item.Bad != nil {
			fmt.Fprintf(&got, "line %d: %s\n", item.Line, item.Bad)
			continue
		}
		fmt.Fprintln(&got, strings.TrimSpace(fmt.Sprintf("%d %s %s %s %s",
			item.Line, e.Device, e.Time, e.State, e.Message)))
	}
	if n := file.Overlaps; n > 0 {
		fmt.Fprintf(&got, "%d overlaps\n", n)
	}
	for _, g := range file.Guesses {
		fmt.Fprintln(&got, g)
	}
	return got.String()
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRuns: where a row ends, the run that goes on is shown again, and the end state once none
// does. A run that begins where another ends says so by itself.
func TestRuns(t *testing.T) {
	m := table.Mapping{}
	m.End, m.EndState = []string{"end"}, "NORMAL"
	got := imported(t, table.Options{}, m, `device,time,end,state,message
a,2026-01-01T10:00,2026-01-01T10:30,STOP,one
a,2026-01-01T10:30,2026-01-01T11:00,RUN,two
b,2026-01-01T10:00,2026-01-01T12:00,HOT,long
b,2026-01-01T10:10,2026-01-01T10:20,JAM,short
b,2026-01-01T10:30,2026-01-01T12:30,JAM,longer
b,2026-01-01T10:15,2026-01-01T12:30,JAM,unsorted
a,2026-01-01T11:30,2026-01-01T11:20,STOP,back
a,2026-01-01T12:00,2026-01-01T12:00,STOP,instant
c,2026-01-01T12:00,-,STOP,open
a,2026-01-01T13:00,,STOP,open
`)
	same(t, got, `2 a 2026-01-01T10:00:00Z STOP one
3 a 2026-01-01T10:30:00Z RUN two
4 b 2026-01-01T10:00:00Z HOT long
5 b 2026-01-01T10:10:00Z JAM short
5 b 2026-01-01T10:20:00Z HOT long
6 b 2026-01-01T10:30:00Z JAM longer
line 7: the run begins before the one above it of the same device, at 2026-01-01T10:30:00Z: `+
		`sort the rows by their start
line 8: column end: the run ends before it begins
3 a 2026-01-01T11:00:00Z NORMAL
9 a 2026-01-01T12:00:00Z STOP instant
10 c 2026-01-01T12:00:00Z STOP open
9 a 2026-01-01T12:00:00.000001Z NORMAL
11 a 2026-01-01T13:00:00Z STOP open
6 b 2026-01-01T12:30:00Z NORMAL
2 overlaps
`)
}

// TestSeverestRun: of several runs the severest is shown, of equal ones the one that began last. A
// milder one is shown once the severer is over, and one that is over before is never shown.
func TestSeverestRun(t *testing.T) {
	severity := map[andon.State]uint8{"NORMAL": 0, "INFO": 10, "WARN": 40, "STOP": 80}
	m := table.Mapping{End: []string{"end"}, EndState: "NORMAL"}
	m.Severity = func(s andon.State) uint8 { return severity[s] }
	const file = `device,time,end,state,message
a,2026-01-01T10:00,2026-01-01T14:00,STOP,emergency
a,2026-01-01T11:00,2026-01-01T12:00,INFO,never
a,2026-01-01T11:30,2026-01-01T16:00,WARN,later
a,2026-01-01T13:00,2026-01-01T15:00,INFO,never
b,2026-01-01T10:00,2026-01-01T12:00,STOP,one
b,2026-01-01T11:00,2026-01-01T13:00,STOP,two
b,2026-01-01T12:30,-,INFO,open
c,2026-01-01T10:00,2026-01-01T11:00,STOP,one
c,2026-01-01T10:30,2026-01-01T12:00,WARN,goes on
c,2026-01-01T11:00,2026-01-01T11:30,INFO,never
c,2026-01-01T12:00,2026-01-01T13:00,INFO,last
d,2026-01-01T10:00,2026-01-01T12:00,WARN,mild
d,2026-01-01T11:00,2026-01-01T12:00,STOP,both end
`
	same(t, imported(t, table.Options{}, m, file), `2 a 2026-01-01T10:00:00Z STOP emergency
6 b 2026-01-01T10:00:00Z STOP one
7 b 2026-01-01T11:00:00Z STOP two
9 c 2026-01-01T10:00:00Z STOP one
9 c 2026-01-01T11:00:00Z WARN goes on
12 c 2026-01-01T12:00:00Z INFO last
13 d 2026-01-01T10:00:00Z WARN mild
14 d 2026-01-01T11:00:00Z STOP both end
2 a 2026-01-01T14:00:00Z WARN later
4 a 2026-01-01T16:00:00Z NORMAL
7 b 2026-01-01T13:00:00Z INFO open
12 c 2026-01-01T13:00:00Z NORMAL
14 d 2026-01-01T12:00:00Z NORMAL
8 overlaps
`)
	m.Severity = nil
	last := imported(t, table.Options{}, m, file)
	if n := strings.Count(last, "never"); n != 3 || !strings.HasSuffix(last, "\n8 overlaps\n") {
		t.Errorf("the last: %s", last)
	}
}

// TestNumbersOfSpreadsheets: decimals after a comma are read where that is said, and the number of
// a day is none.
func TestNumbersOfSpreadsheets(t *testing.T) {
	const text = "device,time,heat\nd,2020-04-24,\"21,5\"\nd,45985.5,1\nd,2020-04-25,\"1.021,5\"\n"
	for comma, want := range map[bool]string{
		false: "line 2: column heat: \"21,5\" is not a number; if that is a decimal comma, say " +
			"--decimal ,\nline 3: column time: 45985.5 looks like the number that a spreadsheet " +
			"has for a date: give the column the form of a date before it is saved\n" +
			"line 4: column heat: \"1.021,5\" is not a number; if that is a decimal comma, say " +
			"--decimal ,\n",
		true: "[{heat 21.5}]\n" +
			"line 3: column time: 45985.5 looks like the number that a spreadsheet has for a " +
			"date: give the column the form of a date before it is saved\n" +
			"line 4: column heat: \"1.021,5\" is not a number\n",
	} {
		file, err := opened(strings.NewReader(text), table.Options{})
		if err != nil {
			t.Fatal(err)
		}
		readings, err := file.Readings(table.Mapping{
			Device: []string{"device"}, Time: []string{"time"}, Metrics: []string{"heat"},
			DecimalComma: comma, Precision: andon.Milliseconds,
		})
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for item, err := range readings {
			if err != nil {
				t.Fatal(err)
			}
			if item.Bad != nil {
				fmt.Fprintf(&got, "line %d: %s\n", item.Line, item.Bad)
			} else {
				fmt.Fprintln(&got, item.Value.Metrics)
			}
		}
		same(t, got.String(), want)
	}
}

// TestClock: zones as other programs write them; a clock on a wall, where the hour is missing that
// the clocks skip, and the earlier of two is taken.
func TestClock(t *testing.T) {
	zone, err := table.ParseZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	m := table.Mapping{}
	m.Zone, m.Precision = zone, andon.Milliseconds
	got := imported(t, table.Options{}, m, `device,time,state
d,2026-11-20 23:20:00.123456+00,N
d,2026-11-20 23:20:00.12 UTC,N
d,2026-11-20T23:20:00+0530,N
d,2026-11-20 23:20:00 -03:30,N
d,2026-07-01 12:00:00,N
d,2026-01-01 12:00:00,N
d,2026-01-01,N
d,2026-03-29 01:59:59,N
d,2026-03-29 02:30:00,N
d,2026-03-29 03:00:00,N
d,2026-10-25 01:59:59,N
d,2026-10-25 02:30:00,N
d,2026-10-25 03:00:00,N
d,1793000000000,N
d,2026-11-20 23:20 CET,N
`)
	same(t, got, `2 d 2026-11-20T23:20:00.123456Z N
3 d 2026-11-20T23:20:00.12Z N
4 d 2026-11-20T17:50:00Z N
5 d 2026-11-21T02:50:00Z N
6 d 2026-07-01T10:00:00Z N
7 d 2026-01-01T11:00:00Z N
8 d 2025-12-31T23:00:00Z N
9 d 2026-03-29T00:59:59Z N
line 10: column time: time "2026-03-29T02:30:00" does not exist in Europe/Berlin: `+
		`the clocks go forward by 1h there
11 d 2026-03-29T01:00:00Z N
12 d 2026-10-24T23:59:59Z N
13 d 2026-10-25T00:30:00Z N
14 d 2026-10-25T02:00:00Z N
15 d 2026-10-26T07:33:20Z N
line 16: column time: time "2026-11-20 23:20 CET" has something other than a zone `+
		`(Z or +01:00) at its end
`)
}

func TestParseZone(t *testing.T) {
	for text, want := range map[string]int{
		"UTC": 0, "+02:00": 7200, "+0530": 19800, "+02": 7200, "Asia/Kolkata": 19800,
	} {
		zone, err := table.ParseZone(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, seconds := andon.MinTime.Std().In(zone).Zone(); seconds != want {
			t.Errorf("%s is %d s ahead of UTC", text, seconds)
		}
	}
	for _, text := range []string{"Local", "Berlin", "+2", "+25:00", "../etc/passwd"} {
		if zone, err := table.ParseZone(text); err == nil {
			t.Errorf("%s: %s", text, zone)
		}
	}
}

// TestUsualNames: columns as other programs name them are taken where no flag names one, and the
// very name before all.
func TestUsualNames(t *testing.T) {
	got := imported(t, table.Options{}, table.Mapping{}, `DeviceID,State#Date,Date,State,Operator
d#1,NORMAL#2020-04-24T14:40:00,2020-04-24T14:40:00,NORMAL,Liz
`)
	same(t, got, `2 d#1 2020-04-24T14:40:00Z NORMAL
device from DeviceID
time from Date
state from State
operator from Operator
`)
	got = imported(t, table.Options{Format: table.JSON}, table.Mapping{},
		`{"Item":{"DeviceID":{"S":"d"},"Date":{"S":"2020-04-24"},"State":{"S":"N"}}}`)
	same(t, got, `1 d 2020-04-24T00:00:00Z N
device from Item.DeviceID.S
time from Item.Date.S
state from Item.State.S
`)
	got = imported(t, table.Options{}, table.Mapping{}, `deviceName,ts,status,state
d,2020-04-24,x,N
`)
	same(t, got, "2 d 2020-04-24T00:00:00Z N\ndevice from deviceName\ntime from ts\n")
}

// TestStatesAndNoHeader: a file of bare cells, whose states have other names here.
func TestStatesAndNoHeader(t *testing.T) {
	m := table.Mapping{
		Device: []string{"1"}, Time: []string{"2"}, State: []string{"3"}, Message: []string{"4"},
		States: map[string]string{"0": "STOPPED", "1": "RUN"},
	}
	got := imported(t, table.Options{NoHeader: true}, m,
		"d,2020-04-24,0,\"two\nlines\"\nd,2020-04-25,1,\nd,2020-04-26,2,\nd,2020-04-26,2\n")
	same(t, got, `1 d 2020-04-24T00:00:00Z STOPPED two
lines
3 d 2020-04-25T00:00:00Z RUN
4 d 2020-04-26T00:00:00Z 2
line 5: the row has 3 cells, not 4
`)
}
