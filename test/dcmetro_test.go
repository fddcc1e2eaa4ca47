package test

import (
	"bytes"
	"encoding/csv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// status is one row of the log of the escalators and elevators of the metro of Washington.
type status struct {
	unit     andon.DeviceID
	from, to andon.Time // to is the truth that the answers are compared with; 0: still open
	category andon.State
	fed      []string // what is fed of it: device, time, state
}

func metroLog(t *testing.T) []status {
	t.Helper()
	text := readData(t, "dcmetro/unit_statuses.csv.gz")
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var log []status
	for _, row := range rows[1:] {
		s := status{
			unit: andon.DeviceID(row[0]), from: parseTime(t, row[1]), category: andon.State(row[6]),
			fed: []string{row[0], row[1], row[6]},
		}
		if row[2] != "" {
			s.to = parseTime(t, row[2])
		}
		log = append(log, s)
	}
	return log
}

const metroTenant = `{"retention":{"events":"forever"},"states":[
	{"name":"ON","severity":0},{"name":"INSPECTION","severity":20},{"name":"OFF","severity":40},
	{"name":"REHAB","severity":48},{"name":"BROKEN","severity":80}]}`

// TestSerialDCMetro imports the log in four orders. The answers must be the same, and true.
func TestSerialDCMetro(t *testing.T) {
	log := metroLog(t)
	byUnit := map[andon.DeviceID][]status{}
	for _, s := range log {
		byUnit[s.unit] = append(byUnit[s.unit], s)
	}
	for _, rows := range byUnit {
		slices.SortFunc(rows, func(a, b status) int { return int(a.from - b.from) })
	}
	onEachStore(t, func(t *testing.T, s *server) {
		for name, order := range metroOrders(log) {
			if strings.HasSuffix(t.Name(), "/memory") && name != "shuffled" {
				continue // it folds its histories again for each answer: one order is slow enough
			}
			t.Run(name, func(t *testing.T) {
				c := s.tenant(t, name, metroTenant)
				importMetro(t, s, name, order)
				checkMetro(t, c, byUnit)
			})
		}
	})
}

func metroOrders(log []status) map[string][]status {
	reversed, shuffled := slices.Clone(log), slices.Clone(log)
	slices.Reverse(reversed)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) {
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	})
	var twice []status
	for _, s := range log {
		twice = append(twice, s, s)
	}
	return map[string][]status{
		"file": log, "reversed": reversed, "shuffled": shuffled, "twice": twice,
	}
}

// importMetro feeds device, time and state only, through the binary.
func importMetro(t *testing.T, s *server, tenant string, order []status) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.csv")
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	w.Write([]string{"unit", "at", "category"})
	for _, row := range order {
		w.Write(row.fed)
	}
	w.Flush()
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s.imported(t, 0, path,
		"--tenant", tenant, "--device", "unit", "--time", "at", "--state", "category")
}

func checkMetro(t *testing.T, c *client.Client, byUnit map[andon.DeviceID][]status) {
	t.Helper()
	open := map[andon.State]int{}
	for unit, rows := range byUnit {
		checkUnit(t, c, unit, rows)
		open[rows[len(rows)-1].category]++
	}
	states, total, err := c.States(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[andon.State]int{}
	for _, s := range states {
		if s.Count > 0 {
			got[s.State] = s.Count
		}
	}
	if diff := cmp.Diff(open, got); diff != "" || total != 308 {
		t.Errorf("%d units; open rows by category (-want +got):\n%s", total, diff)
	}
}

// checkUnit compares one unit with its rows, oldest first.
func checkUnit(t *testing.T, c *client.Client, unit andon.DeviceID, rows []status) {
	t.Helper()
	events := collect(t, c.DeviceEvents(t.Context(), unit, client.Query{Order: andon.Asc}))
	if len(events) != len(rows) {
		t.Fatalf("%s has %d entries, want %d", unit, len(events), len(rows))
	}
	for i, row := range rows {
		next := andon.Time(0)
		if i+1 < len(events) {
			next = events[i+1].Time
		}
		if events[i].Time != row.from || events[i].State != row.category || next != row.to {
			t.Fatalf("%s: entry %d is %+v, then %s; want %+v", unit, i, events[i], next, row)
		}
	}
	runs := collect(t, c.Intervals(t.Context(), unit, client.Query{Order: andon.Asc}))
	for i := range runs {
		if runs[i].To == 0 {
			runs[i].Seconds = 0 // it goes on while we look
		}
	}
	want := runsOf(rows)
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", unit, diff)
	}
	d, err := c.Device(t.Context(), unit)
	last := want[len(want)-1]
	if err != nil || d.State != last.State || d.Since != last.From {
		t.Errorf("%s shows %+v, %v; want %+v", unit, d, err, last)
	}
}

// runsOf joins rows of one category that follow each other.
func runsOf(rows []status) (runs []client.Interval) {
	for _, row := range rows {
		if n := len(runs); n > 0 && runs[n-1].State == row.category {
			continue
		} else if n > 0 {
			runs[n-1].To = row.from
			runs[n-1].Seconds = row.from.Sub(runs[n-1].From).Seconds()
		}
		runs = append(runs, client.Interval{State: row.category, From: row.from})
	}
	return runs
}

// TestSerialDCMetroDirectly imports the file as it is, gzip and all its columns.
func TestSerialDCMetroDirectly(t *testing.T) {
	path := data(t, "dcmetro/unit_statuses.csv.gz")
	s := serve(t, "pebble", t.TempDir())
	c := s.tenant(t, "metro", metroTenant)
	out, _ := s.imported(t, 0, path,
		"--tenant", "metro", "--device", "unit_id", "--time", "time", "--state", "symptom_category",
		"--message", "symptom_description", "--attributes", "update_type")
	if !strings.HasPrefix(out, "imported 41399, rejected 0 of ") {
		t.Errorf("import said %q", out)
	}
	oldest := client.Query{Order: andon.Asc}
	e := collect(t, c.DeviceEvents(t.Context(), "A01E02ESCALATOR", oldest))[0]
	if e.Message != "OPERATIONAL" || e.Attributes != `{"update_type":"Update"}` {
		t.Errorf("the first entry is %+v", e)
	}
}
