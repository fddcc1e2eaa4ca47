package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/andonhq/andon/internal/enginetest"
)

// archived is a program with an archive, which is killed.
type archived struct {
	*testing.T
	settings string
	to       string
	from     time.Time // midnight, some days ago
	sent     int       // days and devices
}

// newArchived makes the settings of a store with an archive that is kept up so often.
func newArchived(t *testing.T, store, every string) *archived {
	t.Helper()
	a := &archived{T: t, to: filepath.Join(t.TempDir(), "cold")}
	a.settings = filepath.Join(t.TempDir(), "andon.yaml")
	a.from = time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -5)
	text := fmt.Sprintf("%s\narchive:\n- name: cold\n  to: %s\n  after: 0s\n  every: %s\n",
		store, a.to, every)
	if err := os.WriteFile(a.settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// send sends events and readings of four days that are over, other ones each time.
func (a *archived) send(s *server) {
	a.Helper()
	var events, readings strings.Builder
	for d := range 20 {
		for n := range 40 {
			at := a.from.Add(time.Duration(n*2)*time.Hour + time.Duration(a.sent)*time.Second)
			of := fmt.Sprintf(`{"device":"press-%d","time":%q`, d, at.Format(time.RFC3339))
			fmt.Fprintf(&events, `%s,"state":"WARNING%d","message":"m"}`+"\n", of, n%4+1)
			fmt.Fprintf(&readings, `%s,"metrics":{"a":%d,"b":0.5}}`+"\n", of, n)
		}
	}
	a.sent++
	const form = "application/x-ndjson"
	s.send(a.T, "POST", "/api/v1/events", form, events.String())
	s.send(a.T, "POST", "/api/v1/readings", form, readings.String())
}

// archiveAll archives all days, late data too.
func (a *archived) archiveAll() {
	a.Helper()
	andonDoes(a.T, "archive", "run", "--config", a.settings, "--from", a.from.Format(time.DateOnly))
	andonDoes(a.T, "archive", "verify", "--config", a.settings)
}

// isExact compares what DuckDB counts in the files with what the API exports, and imports what is
// read back into another tenant.
func (a *archived) isExact(s *server) {
	a.Helper()
	python := enginetest.Python(a, "duckdb-"+duckDB, "duckdb=="+duckDB+"\n")
	ddl := andonDoes(a.T, "archive", "ddl", "duckdb", "--config", a.settings)
	entries := 20 * 40 * a.sent
	sum := float64(20*a.sent) * (40*39/2 + 40*0.5)
	for query, want := range map[string]total{
		"count(*), 0::DOUBLE FROM andon_events":                              {entries, 0},
		"count(*), sum(value) FROM andon_readings":                           {2 * entries, sum},
		"count(DISTINCT (device, time, state)), 0::DOUBLE FROM andon_events": {entries, 0},
	} {
		query = "SELECT 'all', " + query
		if got := askDuckDB(a.T, python, ddl+query)["all"]; got != want {
			a.Errorf("%s answers %+v, want %+v", query, got, want)
		}
	}
	exported := func(args ...string) (lines int, text string) {
		text, errs, code := run(a.T, append([]string{"export", "--url", s.url}, args...)...)
		if code != 0 {
			a.Fatalf("export ended with %d: %s", code, errs)
		}
		return strings.Count(text, "\n"), text
	}
	n, events := exported()
	if n != entries {
		a.Errorf("the API has %d entries, want %d", n, entries)
	}
	s.send(a.T, "PUT", "/api/v1/tenants/copy", "application/json", `{}`)
	for kind, flags := range map[string][]string{
		"events": nil, "readings": {"--metrics", "metrics.*"},
	} {
		file := filepath.Join(a.TempDir(), kind+".ndjson")
		text := andonDoes(a.T, "archive", "read", "--kind", kind, "--config", a.settings)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			a.Fatal(err)
		}
		s.imported(a.T, 0, append(flags, file, "--tenant", "copy")...)
	}
	if _, copied := exported("--tenant", "copy"); copied != events {
		a.Errorf("the copy has other entries")
	}
	_, readings := exported("--kind", "readings")
	if _, copied := exported("--kind", "readings", "--tenant", "copy"); copied != readings {
		a.Errorf("the copy has other readings")
	}
}

// TestArchiveKilled kills a server again and again while it archives and entries of the days that
// it archives arrive, and andon archive run on the store that is left. In the end the archive has
// each entry once, as the API has.
func TestArchiveKilled(t *testing.T) {
	a := newArchived(t, "data: "+filepath.Join(t.TempDir(), "data"), "1s")
	kills := 3
	if os.Getenv(enginetest.LongTests) != "" {
		kills = 40
	}
	for range kills {
		s := start(t, "--config", a.settings, "--log-level", "error")
		a.send(s)
		<-time.After(rand.N(1500 * time.Millisecond))
		s.end(syscall.SIGKILL, -1)
		cmd := command(t, "archive", "run", "--config", a.settings, "--from",
			a.from.Format(time.DateOnly))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		killOnce(t, cmd, ended, func() bool { return len(filesIn(t, a.to)) > 0 })
		<-ended
	}
	a.archiveAll()
	a.isExact(start(t, "--config", a.settings, "--log-level", "error"))
}

// filesIn returns the parts of an archive.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestSerialArchiveTwoProcesses: two servers on one store, which both have the archive in their
// settings, and two commands, do the work once.
func TestSerialArchiveTwoProcesses(t *testing.T) {
	text, err := os.ReadFile(dynamoSettings(t))
	if err != nil {
		t.Fatal(err)
	}
	a := newArchived(t, string(text)+"dynamodb.readings_retention: forever", "1h")
	servers := []*server{
		start(t, "--config", a.settings, "--log-level", "error"),
		start(t, "--config", a.settings, "--log-level", "error"),
	}
	a.send(servers[0])
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { a.archiveAll() })
	}
	both.Wait()
	a.send(servers[1])
	a.archiveAll()
	a.isExact(servers[0])
}
