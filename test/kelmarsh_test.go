package test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// TestSerialKelmarsh is about a log in which several things are wrong with a turbine at one time.
// An entry is (device, time, state):
//
//   - With the status alone as the state, rows of one second and status are one entry. In a
//     file the last of them wins, and a note says how many were replaced. In one request of
//     another client the first wins and each other is refused and named, because no one could
//     say which of the messages is meant.
//   - Several rows go on at once: the turbine is in the severest of them, as --overlap says.
//   - With status and code joined ("Stop/111") each row is an entry of its own, nothing is lost.
func TestSerialKelmarsh(t *testing.T) {
	path := data(t, "kelmarsh/Status_Kelmarsh_1_sample_excerpt.csv")
	onEachStore(t, func(t *testing.T, s *server) {
		t.Run("status", func(t *testing.T) { kelmarshByStatus(t, s, path) })
		t.Run("joined", func(t *testing.T) { kelmarshJoined(t, s, path) })
		t.Run("severest", func(t *testing.T) { kelmarshSeverest(t, s, path) })
		t.Run("request", func(t *testing.T) { kelmarshInOneRequest(t, s) })
	})
}

func kelmarshByStatus(t *testing.T, s *server, path string) {
	c := s.tenant(t, "status", keepsAll)
	out, errs := s.imported(t, 0, path,
		"--tenant", "status", "--comments", "--device", "=Kelmarsh 1",
		"--time", "Timestamp start", "--state", "Status", "--message", "Message")
	if !strings.HasPrefix(out, "imported 31, rejected 0 of ") {
		t.Errorf("import said %q", out)
	}
	want := "6 rows replaced what had the same device, time and state; where these are entries " +
		"of their own, make the state of more columns, as with --state A,B\n" +
		"3 states not in the set of tenant status, kept with severity 16: " +
		"Informational, Stop, Warning; see andon tenant set --help\n"
	if diff := cmp.Diff(want, errs); diff != "" {
		t.Error(diff)
	}
	events := collect(t, c.DeviceEvents(t.Context(), "Kelmarsh 1", client.Query{State: "Warning"}))
	oldest := events[len(events)-2]
	if len(events) != 11 || oldest.Message != "Overload gear bypass filter" {
		t.Errorf("%d warnings, the second is %+v", len(events), oldest)
	}
}

func kelmarshJoined(t *testing.T, s *server, path string) {
	c := s.tenant(t, "joined", keepsAll)
	for range 2 { // an import can be repeated
		out, errs := s.imported(t, 0, path,
			"--tenant", "joined", "--comments", "--device", "=Kelmarsh 1",
			"--time", "Timestamp start", "--state", "Status,Code", "--message", "Message")
		noted := strings.HasPrefix(errs, "26 states not in the set of tenant joined, kept ")
		if !strings.HasPrefix(out, "imported 31, rejected 0 of ") || !noted {
			t.Errorf("import said %q, %q", out, errs)
		}
	}
	at := parseTime(t, "2016-01-14T19:28:05")
	q := client.Query{From: at, To: at, Order: andon.Asc}
	var got []andon.State
	for _, e := range collect(t, c.DeviceEvents(t.Context(), "Kelmarsh 1", q)) {
		got = append(got, e.State)
	}
	// Outside the set of states all have one severity, and their names order them.
	want := []andon.State{
		"Informational/3830", "Informational/3835", "Warning/1825", "Warning/2550", "Warning/2650",
		"Warning/2655", "Warning/3870", "Warning/3875",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	stops := collect(t, c.DeviceEvents(t.Context(), "Kelmarsh 1", client.Query{State: "Stop/*"}))
	if len(stops) != 7 || stops[0].State != "Stop/710" || stops[0].Message != "Battery test" {
		t.Errorf("%d stops, the newest is %+v", len(stops), stops[0])
	}
}

// kelmarshSeverest imports the rows with their ends and compares the intervals that come of them
// with the rows: between any two of their times the turbine is in the severest row that goes on.
func kelmarshSeverest(t *testing.T, s *server, path string) {
	c := s.tenant(t, "severest", keepsAll)
	states := []andon.StateDef{
		{Name: "NORMAL"}, {Name: "Informational", Severity: 20}, {Name: "Warning", Severity: 40},
		{Name: "Stop", Severity: 80},
	}
	_, err := c.PutTenant(t.Context(), "severest", client.TenantChange{States: states})
	if err != nil {
		t.Fatal(err)
	}
	_, errs := s.imported(t, 0, path,
		"--tenant", "severest", "--comments", "--device", "=Kelmarsh 1",
		"--time", "Timestamp start", "--end", "Timestamp end",
		"--state", "Status", "--message", "Message")
	if !strings.Contains(errs, " rows began while another row of the same device went on; ") {
		t.Errorf("the overlaps are not reported: %q", errs)
	}
	rows := kelmarshRows(t, path)
	intervals := collect(t, c.Intervals(t.Context(), "Kelmarsh 1", client.Query{Order: andon.Asc}))
	var times []andon.Time
	for _, r := range rows {
		times = append(times, r.from, r.to)
	}
	slices.Sort(times)
	times = slices.Compact(times)
	for i := range times[1:] {
		middle := times[i] + (times[i+1]-times[i])/2
		want := states[0]
		for _, r := range rows {
			for _, def := range states {
				if r.from <= middle && middle < r.to && r.state == def.Name &&
					def.Severity > want.Severity {
					want = def
				}
			}
		}
		for _, in := range intervals {
			if in.From <= middle && (in.To == 0 || middle < in.To) && in.State != want.Name {
				t.Errorf("at %s the turbine is in %s, want %s", middle, in.State, want.Name)
			}
		}
	}
	if len(rows) != 31 || len(times) < 30 || intervals[0].State != "Stop" {
		t.Errorf("%d rows, %d times, %+v", len(rows), len(times), intervals)
	}
}

type kelmarshRow struct {
	from, to andon.Time
	state    andon.State
}

func kelmarshRows(t *testing.T, path string) (rows []kelmarshRow) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, ",")
		if len(cells) < 5 || strings.HasPrefix(line, "#") || cells[0] == "Timestamp start" {
			continue
		}
		r := kelmarshRow{parseTime(t, cells[0]), andon.MaxTime, andon.State(cells[3])}
		if cells[1] != "-" {
			r.to = parseTime(t, cells[1])
		}
		rows = append(rows, r)
	}
	return rows
}

// kelmarshInOneRequest sends two of the rows over HTTP, without import's help.
func kelmarshInOneRequest(t *testing.T, s *server) {
	row := `{"device":"Kelmarsh 9","time":"2016-01-14T19:28:05Z",` +
		`"state":"Warning","message":"fan %d"}`
	body := fmt.Sprintf("["+row+","+row+","+row+"]", 1, 2, 1)
	got := s.send(t, "POST", "/api/v1/events", "application/json", body)
	want := `{"accepted":2,"unknown_states":["Warning"],"rejected":[{"index":1,"error":"the same ` +
		`device, time and state as entry 0 of this request, with other content"}]}`
	if strings.TrimSpace(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
