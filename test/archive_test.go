package test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
)

// TestSerialArchive archives a week of the metro of Washington and a day of sensors. DuckDB, by the
// statements that andon archive ddl prints, counts and sums what the API answers, for each device
// and day. Then the archive is imported into another tenant, which has the same history.
func TestSerialArchive(t *testing.T) {
	t.Run("pebble", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "andon.yaml")
		settings := "data: " + filepath.Join(t.TempDir(), "data") + "\n"
		if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		archiveOf(t, path, true, 1)
	})
	t.Run("dynamodb", func(t *testing.T) { archiveOf(t, dynamoSettings(t), false, 20) })
}

// archiveOf archives on the store of a file of settings, one of so many units. Where the store has
// one owner, no server runs meanwhile.
func archiveOf(t *testing.T, settings string, isOwned bool, parts int) {
	python := enginetest.Python(t, "duckdb-"+duckDB, "duckdb=="+duckDB+"\n")
	addToFile(t, settings, "archive:\n- name: cold\n  to: "+t.TempDir()+"\n")
	week := slices.DeleteFunc(unitsOf(metroLog(t), 0, parts), func(s status) bool {
		return dateOf(s.from) > "2013-06-07"
	})
	s := serveQuietly(t, "--config", settings)
	c := s.tenant(t, "plant", archivedTenant)
	importMetro(t, s, "plant", week)
	devices := correct(t, c, week)
	devices = append(devices, measureSensors(t, c)...)
	events, readings := answered(t, c, devices)
	if isOwned {
		s.end(syscall.SIGTERM, 0)
	}
	spans := [][2]string{
		{"2013-06-01", "2013-06-07"}, {dateOf(daysAgo(3)), dateOf(daysAgo(2))},
	}
	if isOwned { // what is there is not added again; elsewhere that takes seconds
		spans = append(spans, [2]string{"2013-06-05", "2013-06-09"})
	}
	for _, of := range spans {
		andonDoes(t, "archive", "run", "--config", settings, "--from", of[0], "--to", of[1])
	}
	andonDoes(t, "archive", "verify", "--config", settings)
	ddl := andonDoes(t, "archive", "ddl", "duckdb", "--config", settings)
	for kind, want := range map[string]map[string]total{
		"SELECT concat_ws('|', device, date, state), count(*), " +
			"sum(epoch_us(time) - epoch_us(date)) FROM andon_events": events,
		"SELECT concat_ws('|', device, date, metric), count(*), sum(value) " +
			"FROM andon_readings": readings,
	} {
		got := askDuckDB(t, python, ddl+kind+" WHERE tenant = 'plant' GROUP BY ALL")
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	if isOwned {
		s = serveQuietly(t, "--config", settings)
		c = s.tenant(t, "plant", archivedTenant)
	}
	readBack(t, s, settings, c, devices)
}

const (
	duckDB         = "1.5.6"
	archivedTenant = `{"retention":{"events":"forever","readings":"forever"},"states":[
		{"name":"ON","severity":0},{"name":"INSPECTION","severity":20},
		{"name":"OFF","severity":40},{"name":"REHAB","severity":48},
		{"name":"BROKEN","severity":80}]}`
)

func addToFile(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// correct escalates an entry, withdraws one, retires a unit, and purges one, and returns the units.
func correct(t *testing.T, c *client.Client, log []status) (units []andon.DeviceID) {
	t.Helper()
	ctx := t.Context()
	for unit := range rowsByUnit(log) {
		units = append(units, unit)
	}
	slices.Sort(units)
	first := rowsByUnit(log)[units[0]]
	_, _, err := c.Escalate(ctx, andon.Escalation{
		Device: units[0], Time: first[0].from, State: first[0].category, To: "Sara",
	})
	if err == nil {
		_, err = c.Withdraw(ctx, units[0], first[1].from, first[1].category, client.Withdrawal{})
	}
	if err == nil {
		_, err = c.Retire(ctx, units[1])
	}
	if err == nil {
		err = c.Purge(ctx, units[2])
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.Delete(units, 2, 3)
}

// measureSensors sends each hundredth reading of the sensors, which send no entries, and one
// without a metric, as if they were of three days ago: tables may keep readings for 30 days.
func measureSensors(t *testing.T, c *client.Client) (devices []andon.DeviceID) {
	t.Helper()
	for device, all := range sensorReadings(t) {
		later := daysAgo(3) - andon.DayStart(all[0].Time.Day())
		some := []andon.Reading{{Device: device, Time: all[0].Time + later + 1, Metadata: `{}`}}
		for i := 0; i < len(all); i += 100 {
			all[i].Time += later
			all[i].Metadata = `{"unit": "C", "n": [1, 2]}`
			some = append(some, all[i])
		}
		result, err := c.AppendReadings(t.Context(), some)
		if err != nil || len(result.Rejected) > 0 {
			t.Fatalf("%d are rejected, %v", len(result.Rejected), err)
		}
		devices = append(devices, device)
	}
	return devices
}

// daysAgo returns when a UTC day began.
func daysAgo(n uint32) andon.Time { return andon.DayStart(andon.TimeOf(time.Now()).Day() - n) }

// dateOf returns the UTC day of a time.
func dateOf(at andon.Time) string { return at.Std().UTC().Format(time.DateOnly) }

// total is what is counted and summed of a device and day.
type total struct {
	Count int
	Sum   float64
}

// answered returns what the API answers: of entries the sum of the microseconds of their day.
func answered(
	t *testing.T, c *client.Client, devices []andon.DeviceID,
) (events, readings map[string]total) {
	t.Helper()
	events, readings = map[string]total{}, map[string]total{}
	add := func(to map[string]total, of float64, key ...string) {
		is := to[strings.Join(key, "|")]
		to[strings.Join(key, "|")] = total{is.Count + 1, is.Sum + of}
	}
	for _, device := range devices {
		for _, e := range collect(t, c.DeviceEvents(t.Context(), device, client.Query{})) {
			add(events, float64(e.Time-andon.DayStart(e.Time.Day())),
				string(device), dateOf(e.Time), string(e.State))
		}
		for _, r := range collect(t, c.DeviceReadings(t.Context(), device, client.Query{})) {
			if len(r.Metrics) == 0 {
				add(readings, 0, string(device), dateOf(r.Time))
			}
			for _, m := range r.Metrics {
				add(readings, m.Value, string(device), dateOf(r.Time), string(m.Name))
			}
		}
	}
	return events, readings
}

// andonDoes runs a command that has to succeed.
func andonDoes(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	out, errs, code := run(t, args...)
	if code != 0 {
		t.Fatalf("andon %s ended with %d:\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// askDuckDB runs statements and returns what the last one selects: a key, a number and a sum.
func askDuckDB(t *testing.T, python, statements string) map[string]total {
	t.Helper()
	const ask = "import duckdb, json, sys\n" +
		"print(json.dumps(duckdb.execute(sys.stdin.read()).fetchall()))"
	cmd := exec.CommandContext(t.Context(), python, "-c", ask)
	cmd.Stdin, cmd.Stderr = strings.NewReader(statements), t.Output()
	out, err := cmd.Output()
	var rows [][3]any
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(out)).Decode(&rows)
	}
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, statements, out)
	}
	got := map[string]total{}
	for _, row := range rows {
		sum, _ := row[2].(float64) // none of no metric
		got[row[0].(string)] = total{int(row[1].(float64)), sum}
	}
	return got
}

// readBack imports the archive twice into another tenant, and compares all that devices have.
func readBack(
	t *testing.T, s *server, settings string, c *client.Client, devices []andon.DeviceID,
) {
	t.Helper()
	again := s.tenant(t, "again", archivedTenant)
	for kind, flags := range map[string][]string{
		"events": nil, "readings": {"--metrics", "metrics.*", "--metadata", "metadata.*"},
	} {
		path := filepath.Join(t.TempDir(), kind+".ndjson")
		lines := andonDoes(t, "archive", "read", "--config", settings, "--tenant", "plant",
			"--kind", kind)
		if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s.imported(t, 0, append([]string{path, "--tenant", "again"}, flags...)...)
		}
	}
	for _, device := range devices {
		q := client.Query{Order: andon.Asc}
		diff := cmp.Diff(collect(t, c.DeviceEvents(t.Context(), device, q)),
			collect(t, again.DeviceEvents(t.Context(), device, q)))
		diff += cmp.Diff(collect(t, c.DeviceReadings(t.Context(), device, q)),
			collect(t, again.DeviceReadings(t.Context(), device, q)))
		if diff != "" {
			t.Errorf("%s, imported again (-want +got):\n%s", device, diff)
		}
	}
}
