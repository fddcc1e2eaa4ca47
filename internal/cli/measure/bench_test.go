package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/golden"
	"github.com/andonhq/andon/internal/store/memstore"
)

// runBench runs the command as the command line does, with the temporary files in a directory that
// must be empty afterwards.
func runBench(
	t *testing.T, ctx context.Context, args ...string,
) (stdout, stderr string, err error) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var out, notes bytes.Buffer
	p := &command.Program{
		Stdout: &out, Stderr: &notes, Version: client.Version{Version: "v1.2.3", Go: "go1.26"},
		Now: func() andon.Time { return andon.TimeOf(time.Now()) },
	}
	cmd := Command(p)
	command.CheckArguments(cmd)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(ctx)
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	return out.String(), notes.String(), err
}

func small(args ...string) []string {
	return append([]string{"--devices", "50", "--duration", "20ms", "--writers", "4"}, args...)
}

func TestBenchTable(t *testing.T) {
	out, _, err := runBench(t, t.Context(), small()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"andon v1.2.3", "50 devices, 100 events at first, seed 1, 20ms a load",
		"pebble: pebble ", "OPS/S", "EVENTS/S", "P50", "P99", "OF CEILING", "BYTES/EVENT",
		"pebble   write: 50 events of 50 devices ", "pebble   write: 1 event ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
}

func TestBenchForPrograms(t *testing.T) {
	out, _, err := runBench(t, t.Context(), small("ingest", "-o", "json")...)
	var r report
	if err != nil || json.Unmarshal([]byte(out), &r) != nil || len(r.Rows) != 4 {
		t.Errorf("%v, %s", err, out)
	}
	if r.Machine.Processors == 0 || r.Rows[0].Kind != bench.Fill || r.Rows[3].Kind != bench.Batch ||
		r.Rows[3].OfCeiling == nil || r.Rows[0].BytesPerEvent == nil {
		t.Errorf("%+v", r)
	}
}

func TestBenchKeeps(t *testing.T) {
	kept := t.TempDir()
	if _, _, err := runBench(t, t.Context(), small("--keep", kept)...); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept + "/pebble"); err != nil {
		t.Error(err)
	}
}

func TestBenchInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, _, err := runBench(t, ctx, "--devices", "1000", "--duration", "1m")
	if err == nil || !strings.Contains(err.Error(), "interrupted: nothing is left") {
		t.Errorf("got %v", err)
	}
}

func TestBenchMisuse(t *testing.T) {
	for want, args := range map[string][]string{
		"--devices 5 is not within 10 to 10,000,000": {"--devices", "5"},
		"--events 40 is not within 50 to 1,000,000,000": {
			"--devices", "50", "--events", "40",
		},
		`store "pebbel" is unknown: this build has pebble`:       {"--store", "pebbel"},
		"no AWS region is set":                                   {"--store", "dynamodb"},
		`there is no "write" to measure here: there is ingest,`:  {"write"},
		`there is no "query" to measure here: there is ingest, `: {"ingest", "query"},
		"cassandra.hosts is empty: name at least one node":       {"--store", "cassandra"},
		"the configuration is wrong":                             {"--pebble-cache", "much"},
	} {
		// What is measured is made before the stores are looked at.
		args = append([]string{"--devices", "50", "--events", "50"}, args...)
		out, _, err := runBench(t, t.Context(), args...)
		if err == nil || !strings.HasPrefix(err.Error(), want) ||
			andon.KindOf(err) != andon.Invalid {
			t.Errorf("got %v, want %s", err, want)
		}
		if out != "" {
			t.Errorf("%v: %s", args, out)
		}
	}
}

// TestBenchLeavesOthersAlone: a shared store that has devices is not measured.
func TestBenchLeavesOthersAlone(t *testing.T) {
	store := memstore.New()
	if err := mustBeEmpty(t.Context(), store); err != nil {
		t.Error(err)
	}
	e := []andon.Event{{Device: "d", Time: 1e15, State: "NORMAL"}}
	if err := store.Append(t.Context(), andon.DefaultTenant, 1e15, e); err != nil {
		t.Fatal(err)
	}
	err := mustBeEmpty(t.Context(), store)
	if andon.KindOf(err) != andon.Conflict || !strings.Contains(err.Error(), "tenant default") {
		t.Errorf("got %v", err)
	}
}

// TestBenchGolden: what a person sees of one report.
func TestBenchGolden(t *testing.T) {
	r := report{
		Version: client.Version{Version: "v1.2.3", Go: "go1.26.8"},
		Machine: machine{
			Processors: 2, Memory: 24 << 30, System: "linux/amd64",
			Go: "go1.26.8", Directory: "/var/lib/andon", Disk: "ext4",
		},
		Devices: 1_000_000, Events: 2_000_000, Seed: 1, Duration: 2 * time.Second,
		Subject: "pebble", Engine: "pebble 2.1.7",
		Rows: []bench.Row{
			{
				Subject: "pebble", Load: "write: 1 event", InFlight: 64, Ops: 300_000,
				OpsRate: 144_671.4, P50: 358_123, P99: 1_684_000, EventsRate: new(144_671.4),
				CeilingRate: new(170_000.0), OfCeiling: new(0.851), BytesPerEvent: new(53.21),
				CeilingP99: new(1_234_567 * time.Nanosecond),
			},
			{
				Subject: "pebble", Load: "100 devices in a state", InFlight: 1, Ops: 3,
				OpsRate: 0.69, P50: 1_150_000_000, P99: 99_960_000_000,
			},
			{
				Subject: "pebble", Load: "counts of all states", InFlight: 1, Ops: 9_000_000,
				OpsRate: 4_830_640, P50: 131, P99: 9_996,
			},
		},
	}
	var got strings.Builder
	p := &command.Program{Stdout: &got, Stderr: io.Discard}
	if err := r.print(p, command.FormatTable); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/bench.golden", got.String())
}
