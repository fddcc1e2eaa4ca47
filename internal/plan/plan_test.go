package plan

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
)

// input is a fleet of three made-up stores: one machine, a cluster, and a metered one.
func input(t *testing.T) Input {
	t.Helper()
	measured, err := ReadMeasured()
	if err != nil {
		t.Fatal(err)
	}
	region, err := builtIn(t).Region("us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	return Input{
		Traffic: Traffic{
			Devices: 10_000, Interval: 5 * time.Minute, EventBytes: 300, Changes: 0.1,
			Metrics: 3, Retention: 30 * 24 * time.Hour, ReadingsRetention: 30 * 24 * time.Hour,
			Peak: 3, Batch: 1, DevicesOfOperator: 100, LargestState: 0.95, Tenants: 1,
			Replication: 3, Queries: map[string]float64{},
		},
		Measured: measured, Region: region,
		Layouts: []Layout{
			{Store: "pebble", Machine: &Machine{Cache: 128 << 20, Reserve: 512 << 20}},
			{Store: "cassandra", Survives: true, Cluster: &Cluster{
				MostRows: 100_000, MostBytes: 100e6,
				Writes:     []RowWrite{{Table: "log", Per: PerEvent, Requests: 2}},
				Partitions: []Partition{{Table: "list", Sharing: ByState, Rows: 1, Bytes: 50}},
			}},
			{Store: "metered", Survives: true, NoReadings: true, Metered: &Metered{
				KeyUnits: 1000, TableUnits: 40_000, Scaled: 0.7, DeletedAfter: 2, Recovery: true,
				Writes: []ItemWrite{
					{Per: PerEvent, Table: "log", After: 1025, Kept: true},
					{Per: PerChange, Table: "log", Index: "list", Before: 50, After: 50,
						Moves: true, Changed: true, Sharing: ByState, Keys: 2},
				},
			}},
		},
	}
}

func TestRates(t *testing.T) {
	in := input(t)
	in.Traffic.Devices, in.Traffic.Interval = 10_000, time.Second
	in.Traffic.Queries[AskLog] = 2
	p := Make(in)
	got := p.Rates[0]
	want := Rate{"events", 10_000, 30_000, 864e6, 26_280e6}
	if got != want {
		t.Errorf("got %+v, want %+v: 10,000 a second are 864 million a day", got, want)
	}
	if got := p.Rates[1].Second; got != 1000 {
		t.Errorf("%g changes a second, want 1,000", got)
	}
	if got := p.Rates[len(p.Rates)-1]; got.Second != 2 || got.Day != 172_800 {
		t.Errorf("queries: %+v", got)
	}
}

// TestMetered: the made-up metered store, by hand.
func TestMetered(t *testing.T) {
	r := Make(input(t)).Results[2]
	events := 10_000.0 / 300
	units := events*2 + events*0.1*2
	items := events * 86_400 * 32
	storage := items * (1025 + 100) / (1 << 30) * (0.25 + 0.20) // it can be recovered
	servers := 2 * 0.0408 * 730.0
	onDemand := units*2_628_000/1e6*0.625 + storage + servers
	// 66.67 / 0.7 and 6.67 / 0.7, rounded up, and a read unit of each.
	scaled := (96+10)*730*0.00065 + 2*730*0.00013 + storage + servers
	for i, want := range []float64{onDemand, scaled} {
		if got := r.Ways[i].Cost; math.Abs(got-want) > 0.005 {
			t.Errorf("%s costs $%.2f, want $%.2f", r.Ways[i].Name, got, want)
		}
	}
	for i, want := range []Operation{
		{"an event with the state that the device has", 2, 0, 2 * 0.625},
		{"an event with another state", 4, 0, 4 * 0.625},
	} {
		if got := r.Operations[i]; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if r.Way != "provisioned, and 2 m7g.medium" || r.Cost != r.Ways[1].Cost {
		t.Errorf("the cheapest way is %s at %g", r.Way, r.Cost)
	}
	// A list of the largest state has two keys of 1,000 units: 2,000 changes at the peak are
	// 2,000 / 3 / 0.1 events a second.
	if want := 2_000_000; r.Most != want || !strings.Contains(r.Beyond, "one partition key") {
		t.Errorf("it holds until %d devices (%s), want %d", r.Most, r.Beyond, want)
	}
}

// TestWhatHolds: each thing that is in the way is said, and another store is the cheapest then.
func TestWhatHolds(t *testing.T) {
	for _, c := range []struct {
		change   func(*Traffic)
		store    int
		why      string
		cheapest int
	}{
		{func(*Traffic) {}, -1, "", 0},
		{func(t *Traffic) { t.Survive = true }, 0, "does not go on while its machine is down", 2},
		{func(t *Traffic) { t.ReadingsEvery = time.Minute }, 2, "it keeps no readings", 0},
		{func(t *Traffic) { t.Devices = 110_000 }, 1, "would have 104,500 rows", 0},
		{func(t *Traffic) { t.Retention, t.EventBytes = 3000*t.Retention, 3000 }, 0,
			"are the most that one has", 2},
		{func(t *Traffic) { t.Interval = 100 * time.Millisecond }, 0, "put in order one at a time",
			1},
		{func(t *Traffic) { t.Devices = 300_000_000 }, 0, "GB of memory", -1},
	} {
		in := input(t)
		c.change(&in.Traffic)
		p := Make(in)
		for i, r := range p.Results {
			said := strings.Contains(strings.Join(r.Why, "; "), c.why)
			if i == c.store && (r.Holds || !said) || c.store < 0 && !r.Holds {
				t.Errorf("%s holds: %t, since %v, want %q", r.Store, r.Holds, r.Why, c.why)
			}
		}
		if p.Cheapest != c.cheapest {
			t.Errorf("with %q the cheapest is %d, want %d", c.why, p.Cheapest, c.cheapest)
		}
	}
}

// TestUnpriced: a region without machines has no price of what needs them, and is never cheapest.
func TestUnpriced(t *testing.T) {
	in := input(t)
	var err error
	if in.Region, err = builtIn(t).Region("eu-west-1"); err != nil {
		t.Fatal(err)
	}
	p := Make(in)
	for i, r := range p.Results {
		if want := i == 2; r.Priced != want {
			t.Errorf("%s has a price: %t, want %t", r.Store, r.Priced, want)
		}
	}
	if p.Cheapest != 2 || !strings.Contains(strings.Join(p.Results[2].Notes, ";"), "without the") {
		t.Errorf("the cheapest is %d; %v", p.Cheapest, p.Results[2].Notes)
	}
}

// TestMeasured: every figure that was measured names its measurement, and none is missing.
func TestMeasured(t *testing.T) {
	in := input(t)
	in.Traffic.ReadingsEvery = 10 * time.Second
	in.Layouts[2].NoReadings = false
	for _, r := range Make(in).Results {
		for _, f := range r.Figures {
			if f.Name == "" || f.How == "" || f.How == "measured" && f.Measured == "" {
				t.Errorf("%s: a figure without a name, or its measurement: %+v", r.Store, f)
			}
		}
	}
}

// TestSweep: a crossing is where the costs really cross, to the device.
func TestSweep(t *testing.T) {
	in := input(t)
	w := MakeSweep(in, 100, 100_000_000)
	first, end := w.Sizes[0], w.Sizes[len(w.Sizes)-1]
	if len(w.Sizes) != 19 || first.Devices != 100 || end.Devices != 100_000_000 {
		t.Errorf("the sizes are %v", w.Sizes)
	}
	if len(w.Stores) != 3 || len(first.Cost) != 3 || first.Cost["pebble"] <= 0 {
		t.Errorf("the costs of the first size are %v", first.Cost)
	}
	if len(w.Crossings) == 0 {
		t.Fatal("no crossing")
	}
	for _, c := range w.Crossings {
		before, then := in.best(c.Devices-1), in.best(c.Devices)
		if before != c.From || then != c.To || before == then {
			t.Errorf("%+v: %s before, and %s then", c, before, then)
		}
	}
	last := w.Crossings[len(w.Crossings)-1]
	if last.To != "" || last.Why == "" {
		t.Errorf("at last no store holds, and it is said why: %+v", last)
	}
	if end.Cost["pebble"] != 0 {
		t.Errorf("a store has a cost where it does not hold: %v", end.Cost)
	}
}

func TestLast(t *testing.T) {
	for _, edge := range []int{1, 2, 99, 100, 1000} {
		if got := last(1, 1000, func(n int) bool { return n <= edge }); got != edge {
			t.Errorf("got %d, want %d", got, edge)
		}
	}
}

func TestSample(t *testing.T) {
	in := input(t)
	for _, size := range []int{129, 300, 1024} {
		in.Traffic.EventBytes = size
		s, err := in.Traffic.Sample()
		if err != nil {
			t.Fatal(err)
		}
		if got := jsonLength(t, &s.Events[0]); got != size {
			t.Errorf("the event has %d bytes as JSON, want %d", got, size)
		}
	}
	in.Traffic.EventBytes = LeastEventBytes
	s, err := in.Traffic.Sample()
	if err != nil || s.Events[0].Message != "" {
		t.Errorf("the least: %q, %v", s.Events[0].Message, err)
	}
	in.Traffic.EventBytes = 50
	_, err = in.Traffic.Sample()
	if err == nil || !strings.Contains(err.Error(), "less than 128") {
		t.Errorf("50 bytes: %v", err)
	}
	in.Traffic.EventBytes = 1 << 20
	if _, err := in.Traffic.Sample(); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a megabyte: %v", err)
	}
}

func TestShow(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", 1234567: "1,234,567", 0.125: "0.125", 33.3333: "33.3", 333.3: "333",
		-1234.5: "-1,234", 999.9: "1,000", 1e9: "1,000,000,000", 6.6667: "6.67",
	} {
		if got := Show(x); got != want {
			t.Errorf("%g is shown as %q, want %q", x, got, want)
		}
	}
}

func jsonLength(t *testing.T, e *andon.Event) int {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}
