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
	"github.com/andonhq/andon/internal/cli/clitest"
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

// noQuestions are the flags of a fleet that no one asks about.
func noQuestions(more ...string) []string {
	return append([]string{"--ask-device", "0", "--ask-log", "0", "--ask-list", "0",
		"--ask-operator", "0", "--ask-reading", "0"}, more...)
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
	storage := (92_160_000*446*2 + 10_000*1019) / math.Pow(2, 30) * 0.25
	onDemand := 280.32 * 0.625
	scaled := 184*730*0.00065 + 50*730*0.00013
	ofOne := 273*0.08 + 0.1632*730
	ofNodes := 28*0.343*730 + 4*machine
	dynamo := planOf(t, noQuestions("--store", "dynamodb")...).Results[0]
	large := planOf(t, noQuestions("--devices", "100000", "--readings-interval", "10s",
		"--store", "pebble,cassandra")...)
	buckets := slices.IndexFunc(large.Results, func(r plan.Result) bool {
		return r.Layout == "buckets"
	})
	for _, c := range []struct {
		what      string
		got, want float64
		page      string
	}{
		{"on demand", dynamo.Ways[0].Cost, onDemand + storage + 2*machine, "**$253.91**"},
		{"provisioned", dynamo.Ways[1].Cost, scaled + storage + 2*machine, "**$170.76**"},
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
	r := planOf(t, "--readings-interval", "10s", "--sweep", "--guide")
	if len(r.Rates) != 8 || r.Rates[2].Day != 86_400_000 {
		t.Errorf("the traffic is %+v", r.Rates)
	}
	if r.Sweep == nil || len(r.Sweep.Series) != 3 || r.Guide == nil || len(r.Guide.Options) != 3 {
		t.Errorf("the sweep is %+v, the guide %+v", r.Sweep, r.Guide)
	}
	for _, of := range r.Results {
		if len(of.Figures) < 10 {
			t.Errorf("%s has %d figures", of.Name(), len(of.Figures))
		}
	}
}

// TestGuide: what the issue of the guide is about.
func TestGuide(t *testing.T) {
	r := planOf(t, "--guide")
	var said []string
	for _, c := range r.Guide.Claims {
		said = append(said, c.Guide+" is "+c.Is)
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{"26 million is 864 million", "$0.65 is $0.00065",
		"$12,500 is $32,850", "$2,300 is $2,373", "5,000 is 14,286"} {
		if !strings.Contains(all, want) {
			t.Errorf("there is no %q in\n%s", want, all)
		}
	}
	// 10,000 units x 2,628,000 s x $0.625 a million, and 14,286 x 730 h x $0.00065.
	for i, want := range []float64{16425, 6778.71, 6778.71} {
		if got := r.Guide.Options[i]; math.Abs(got.Writing-want) > 0.01 ||
			math.Abs(got.Total-got.Writing-got.Storage) > 0.01 {
			t.Errorf("%+v, want $%.2f for writing", got, want)
		}
	}
}

// TestLive measures a server while devices report to it: 20 of them twice a second.
func TestLive(t *testing.T) {
	server := clitest.NewServer(t)
	send := func(n int) {
		var body strings.Builder
		at := server.Clock().Add(andon.Duration(n) * 1000)
		for device := range 20 {
			state := "NORMAL"
			if (device+n)%2 == 0 && device < 10 {
				state = "WARNING1"
			}
			fmt.Fprintf(&body, `{"device":"d%02d","time":"%s","state":"%s","message":"%s"}`+"\n",
				device, at, state, strings.Repeat("m", 100))
		}
		server.Sends("/events", body.String())
	}
	send(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; n <= 5; n++ {
			<-time.After(500 * time.Millisecond)
			send(n)
		}
	}()
	out, err := run(t, today(), "--from-live", server.URL, "--measure", "2s", "--interval", "7m",
		"--store", "pebble", "-o", "json")
	<-done
	var r report
	if err != nil || json.Unmarshal([]byte(out), &r) != nil {
		t.Fatal(err, out)
	}
	m := r.Live
	if m == nil || m.Devices != 20 || m.Events < 10 || m.Events > 60 || m.Entries < 40 {
		t.Errorf("measured %+v", m)
	}
	if r.Traffic.Devices != 20 || r.Traffic.Changes < 0.4 || r.Traffic.Changes > 0.6 ||
		r.Traffic.EventBytes < 160 || r.Traffic.EventBytes > 180 {
		t.Errorf("the traffic is %+v", r.Traffic)
	}
	if r.Traffic.Interval != 7*time.Minute || slices.Contains(m.Taken, "interval") {
		t.Errorf("a flag was not taken before what was measured: %s, %v", r.Traffic.Interval,
			m.Taken)
	}
	if r.Traffic.Questions[plan.AskLog] != 0 || !slices.Contains(m.Taken, "ask_log") {
		t.Errorf("no one asked, and the plan has %v", r.Traffic.Questions)
	}
}

func TestCounters(t *testing.T) {
	all := readCounters(`# HELP x y
andon_events_accepted_total 1.5e+03
andon_http_requests_total{method="GET",route="/api/v1/devices/{device}",status="2xx"} 3
andon_http_requests_total{method="GET",route="/api/v1/devices/{device}",status="4xx"} 2
andon_http_requests_total{method="POST",route="/api/v1/events",status="2xx"} 9
andon_x{a="b c"} NaNy
`)
	if all["andon_events_accepted_total"] != 1500 || all["GET /devices/{device}"] != 5 ||
		len(all) != 2 {
		t.Errorf("read %v", all)
	}
}
