package planner

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/plan"
)

var update = flag.Bool("update", false, "write the page again")

// today is when the plans of these tests are made.
func today() andon.Time { return andon.TimeOf(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)) }

// run runs the command.
func run(t *testing.T, now andon.Time, args ...string) (stdout string, err error) {
	t.Helper()
	var out, notes bytes.Buffer
	p := &command.Program{
		Stdout: &out, Stderr: &notes, Now: func() andon.Time { return now },
	}
	cmd := Command(p)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func planOf(t *testing.T, args ...string) (r report) {
	t.Helper()
	out, err := run(t, today(), append(args, "-o", "json")...)
	if err == nil {
		err = json.Unmarshal([]byte(out), &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// noQueries are the flags of a fleet that no one asks about.
func noQueries(more ...string) []string {
	return append([]string{"--ask-device", "0", "--ask-log", "0", "--ask-list", "0",
		"--ask-operator", "0", "--ask-reading", "0", "--ask-fleet", "0"}, more...)
}

const page = "../../../docs/planning.md"

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestByHand: the two cases of docs/planning.md, worked out here as they are there.
func TestByHand(t *testing.T) {
	machine := 0.0408 * 730
	const gb = float64(1 << 30)
	storage := (92_160_000*446*2+10_000*860+92_160*(2*286+195))/gb*0.25 +
		(92_160_000*446+10_000*472+92_160*(286+195))/gb*0.20 + 8
	onDemand := 338.3988*0.625 + 111.00757*0.125
	scaled := 211*730*0.00065 + 102*730*0.00013
	ofOne := 273*0.08 + 0.1632*730
	ofNodes := 28*0.343*730 + 4*machine
	dynamo := planOf(t, noQueries("--store", "dynamodb")...).Results[0]
	large := planOf(t, noQueries("--devices", "100000", "--readings-interval", "10s",
		"--store", "pebble,cassandra")...)
	buckets := slices.IndexFunc(large.Results, func(r plan.Result) bool {
		return r.Layout == "buckets"
	})
	for _, c := range []struct {
		what      string
		got, want float64
		page      string
	}{
		{"on demand", dynamo.Ways[0].Cost, onDemand + storage + 2*machine, "**$319.77**"},
		{"provisioned", dynamo.Ways[1].Cost, scaled + storage + 2*machine, "**$204.19**"},
		{"one machine", large.Results[0].Cost, ofOne, "**$140.98**"},
		{"a cluster", large.Results[buckets].Cost, ofNodes, "**$7,130.06**"},
	} {
		if math.Abs(c.got-c.want) > 0.005 {
			t.Errorf("%s costs $%.4f, and by hand $%.4f", c.what, c.got, c.want)
		}
		if text := "**$" + dollars(c.want) + "**"; text != c.page ||
			!strings.Contains(strings.ReplaceAll(readPage(t), "\n", " "), c.page) {
			t.Errorf("%s is %s by hand, and %s on the page", c.what, text, c.page)
		}
	}
}

var shown = regexp.MustCompile("(?s)```\n\\$ andon plan ([^\n]*)\n.*?```")

// TestPage: what the page shows of the program is what the program prints, and the table of figures
// is that of the file.
func TestPage(t *testing.T) {
	text := readPage(t)
	want := shown.ReplaceAllStringFunc(text, func(block string) string {
		args := shown.FindStringSubmatch(block)[1]
		out, err := run(t, today(), strings.Fields(args)...)
		if err != nil {
			t.Fatal(err)
		}
		return "```\n$ andon plan " + args + "\n" + out + "```"
	})
	const begin, end = "<!-- figures begin -->\n", "<!-- figures end -->"
	before, _, _ := strings.Cut(want, begin)
	_, after, ok := strings.Cut(want, end)
	if !ok {
		t.Fatal("the page has no place for the figures")
	}
	want = before + begin + figures(t) + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != text {
		t.Error("docs/planning.md is not what the program prints: " +
			"go test ./internal/cli/planner -run TestPage -update writes it")
	}
}

// figures is the table of what the planner goes by.
func figures(t *testing.T) string {
	m, err := plan.ReadMeasured()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| of | figure | | measured |\n|---|---|---:|---|\n")
	add := func(of string, all map[string]plan.Measurement) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			f := all[name]
			if f.What == "" || f.Unit == "" || f.Measured == "" || f.Value <= 0 {
				t.Errorf("%s, %s: a figure lacks something: %+v", of, name, f)
			}
			fmt.Fprintf(&b, "| %s | %s | %s %s | %s |\n", of, f.What, plan.Show(f.Value), f.Unit,
				f.Measured)
		}
	}
	add("a server", m.Server)
	for _, store := range slices.Sorted(maps.Keys(m.Stores)) {
		add(store, m.Stores[store])
	}
	add("rules", m.Guide)
	return b.String()
}

// TestNamed: every measurement that names a page names one that is there.
func TestNamed(t *testing.T) {
	name := regexp.MustCompile(`docs/[\w./-]+\.md`)
	for _, path := range name.FindAllString(figures(t), -1) {
		if _, err := os.Stat(filepath.Join("../../..", path)); err != nil {
			t.Error(err)
		}
	}
}

// TestOldPrices: what is older than a year is marked, and nothing else.
func TestOldPrices(t *testing.T) {
	const mark = "OLDER THAN A YEAR: the price of units on demand is of 2025-08-28"
	out, err := run(t, today(), "--region", "eu-west-1")
	if err != nil || !strings.Contains(out, mark) {
		t.Errorf("%v: the old price is not marked in\n%s", err, out)
	}
	before := andon.TimeOf(time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC))
	if out, err = run(t, before, "--region", "eu-west-1"); err != nil ||
		strings.Contains(out, "OLDER") {
		t.Errorf("%v: a price of less than a year is marked in\n%s", err, out)
	}
	for _, s := range planOf(t, "--region", "eu-west-1").Prices {
		if !s.Old {
			t.Errorf("for programs: %+v", s)
		}
	}
}

// TestJSON: it has every figure, each kind of traffic, and nothing that JSON can't hold.
func TestJSON(t *testing.T) {
	r := planOf(t, "--readings-interval", "10s", "--sweep")
	if len(r.Rates) != 9 || r.Rates[2].Day != 86_400_000 {
		t.Errorf("the traffic is %+v", r.Rates)
	}
	if r.Sweep == nil || len(r.Sweep.Stores) != 3 || len(r.Sweep.Sizes) != 19 {
		t.Errorf("the sweep is %+v", r.Sweep)
	}
	for _, of := range r.Results {
		if len(of.Figures) < 10 {
			t.Errorf("%s has %d figures", of.Name(), len(of.Figures))
		}
	}
}
