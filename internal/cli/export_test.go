package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/simulate"
)

// history makes up some hours of a small fleet, and escalates some of it.
func (d *desk) history(devices int) {
	d.Helper()
	every := andon.Duration(300_000_000)
	fleet := simulate.New(simulate.Options{
		Seed: 1, Devices: devices, Every: every, Start: d.Clock() - 60*andon.Time(every),
	})
	past, c := fleet.Advance(d.Clock()), d.Client("default")
	h := andon.History{Assignments: past.Assignments}
	if _, err := c.Restore(d.Context(), h); err != nil {
		d.Fatal(err)
	}
	if _, err := c.AppendEvents(d.Context(), past.Events); err != nil {
		d.Fatal(err)
	}
	h = andon.History{Escalations: past.Escalations}
	if _, err := c.Restore(d.Context(), h); err != nil {
		d.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// interruptAt cancels a context when the n-th device is asked for.
func (d *desk) interruptAt(n int) context.Context {
	ctx, cancel := context.WithCancel(d.Context())
	d.Cleanup(cancel)
	asked := 0
	d.OnRequest(func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") && r.Method == http.MethodGet {
			if asked++; asked == n {
				cancel()
				<-r.Context().Done() // the client is gone before it has an answer
			}
		}
	})
	return ctx
}

// TestExportIsWhole: an export that is interrupted leaves nothing, and can be started again.
func TestExportIsWhole(t *testing.T) {
	d := newDesk(t)
	d.history(6)
	whole := d.does("export")
	file := filepath.Join(t.TempDir(), "out")
	if code := d.types(d.interruptAt(4), "export", "--output", file); code != command.ExitFailed ||
		!strings.Contains(d.err.String(), "interrupted") {
		t.Errorf("exit code %d: %s", code, d.err.String())
	}
	if exists(file) || exists(file+".part") {
		t.Error("something is left")
	}
	d.OnRequest(nil)
	d.does("export", "--output", file)
	if read(t, file) != whole || exists(file+".part") {
		t.Error("it is not the same, or something is left")
	}
}

// oddEvents have what a format may lose: line breaks of all kinds, quotes, what looks like a
// number, a null or an object, and devices whose names need care.
const oddEvents = `
{"device":"001","time":"2020-04-24T14:00:00Z","state":"1e3","message":"a\r\nb\rc\n"}
{"device":"d#1/x, y","time":1587736800000.001,"state":"NORMAL","message":" \"null\" ",
"operator":"=Liz"}
{"device":"é\"","time":"2020-04-24T14:00:00Z","state":"WARNING1","escalated_to":"Sara",
"message":"{}"}
{"device":"001","time":"2020-04-24T14:01:00Z","state":"NORMAL",
"attributes":{"attributes":{"a":"\r\n"}}}
{"device":"001","time":"2020-04-24T14:02:00Z","state":"NORMAL","n":1.50,
"big":12345678901234567890,"a.b":null,"c":[1, {"d":"x,\"y\""}]}
`

// TestExportComesBack: what is exported and imported again, without any flag for its columns, gives
// the same answers to all queries, and the same export.
func TestExportComesBack(t *testing.T) {
	for _, format := range []string{"ndjson", "csv"} {
		t.Run(format, func(t *testing.T) {
			d := newDesk(t)
			d.afternoon()
			d.history(20)
			d.Sends("/events", strings.ReplaceAll(oddEvents, ",\n", ","))
			d.hasAll("001", "001", "001", "d#1/x, y", "é\"")
			file := filepath.Join(t.TempDir(), "events."+format)
			d.does("export", "--output", file, "--format", format)
			d.does("tenant", "set", "copy")
			d.does("import", file, "--tenant", "copy")
			again := d.does("export", "--tenant", "copy", "--format", format)
			if diff := cmp.Diff(read(t, file), again); diff != "" {
				t.Error(diff)
			}
			was, is := answers(t, d.Client("default")), answers(t, d.Client("copy"))
			if len(was) < 1000 {
				t.Errorf("only %d answers", len(was))
			}
			if diff := cmp.Diff(was, is); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// hasAll checks that each device has as many events as it is named.
func (d *desk) hasAll(devices ...andon.DeviceID) {
	d.Helper()
	want := map[andon.DeviceID]int{}
	for _, id := range devices {
		want[id]++
	}
	for id, n := range want {
		if got := strings.Count(d.does("export", "--device", string(id)), "\n"); got != n {
			d.Errorf("%s has %d events, want %d", id, got, n)
		}
	}
}

// oddReadings have numbers of all sizes, and names and metadata that need care.
const oddReadings = `
{"device":"001","time":"2020-04-24T14:00:00Z","metrics":{"n":1234567,"big":-1.5e125}}
{"device":"001","time":"2020-04-24T14:01:00.000001Z",
"metrics":{"a.b":1e-130,"é \"x\"":0.1,"on":true}}
{"device":"é","time":"2020-04-24T14:00:00Z","metrics":{"n":12345678901234567890},
"metadata":{"fw":"1.2"}}
{"device":"é","time":"2020-04-24T14:01:00Z","metrics":{"metrics":0,"device":1e21},
"metadata":{"metadata":{}}}
{"device":"é","time":"2020-04-24T14:02:00Z","metrics":{"n":-0.000001},
"m":[1.50,null,"a\r\nb"],"c.d":{"e":1}}
`

// TestReadingsComeBack is TestExportComesBack for readings, with either way to name their columns.
func TestReadingsComeBack(t *testing.T) {
	for format, columns := range map[string][]string{
		"ndjson": {"--metrics", "metrics.*", "--metadata", "metadata.*"},
		"csv":    {"--metrics", "metrics.*", "--metadata", "metadata.*"},
		"jsonl":  {"--metrics", "metrics", "--metadata", "metadata"},
		"CSV":    {"--metrics", "metrics", "--metadata", "metadata"},
	} {
		t.Run(format, func(t *testing.T) {
			d := newDesk(t)
			d.Sends("/readings", strings.ReplaceAll(oddReadings, ",\n", ","))
			form := strings.Replace(strings.ToLower(format), "jsonl", "ndjson", 1)
			out := func(args ...string) string {
				return d.does(append([]string{"export", "--kind", "readings", "--device", "001",
					"--device", "é", "--format", form}, args...)...)
			}
			file := filepath.Join(t.TempDir(), "readings."+format)
			out("--output", file)
			d.does("tenant", "set", "copy")
			args := []string{"import", file, "--tenant", "copy"}
			d.does(append(args, columns...)...)
			if diff := cmp.Diff(read(t, file), out("--tenant", "copy")); diff != "" {
				t.Error(diff)
			}
			if n := strings.Count(read(t, file), "2020-04-24"); n != 5 {
				t.Errorf("%d readings", n)
			}
		})
	}
}

// answers asks all queries about a tenant.
func answers(t *testing.T, c *client.Client) []string {
	ctx, q := t.Context(), client.Query{}
	all := lines(t, c.Devices(ctx, client.DeviceQuery{Sort: "severity"}))
	states, total, err := c.States(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, fmt.Sprint(states, total))
	people := map[andon.PersonID]bool{"": true}
	for d, err := range c.Devices(ctx, client.DeviceQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, lines(t, c.DeviceEvents(ctx, d.Device, q))...)
		all = append(all, lines(t, c.Intervals(ctx, d.Device, q))...)
		for _, p := range []andon.PersonID{d.Operator, d.EscalatedTo} {
			if !people[p] {
				people[p] = true
				all = append(all, lines(t, c.OperatorEvents(ctx, p, q))...)
				all = append(all, lines(t, c.SupervisorEvents(ctx, p, q))...)
			}
		}
	}
	return all
}

func lines[T any](t *testing.T, items iter.Seq2[T, error]) (all []string) {
	t.Helper()
	for item, err := range items {
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}
