package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
)

func builtIn(t *testing.T) Prices {
	t.Helper()
	p, err := ReadPrices("built-in", []byte(PricesText()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWrongPrices(t *testing.T) {
	const begin = "regions:\n  - name: here\n"
	for _, c := range []struct{ text, want string }{
		{"", "p.yaml: it is empty"},
		{"regions: []\n", "p.yaml: there is no region"},
		{"region: x\n", `p.yaml:1: "region" is not a field here`},
		{begin + "    storage:\n      gb_mont: 1\n", `p.yaml:4: "gb_mont" is not a field here`},
		{begin + "    storage:\n      gb_month: -1\n", `p.yaml:4: "-1" is not a price above 0`},
		{begin + "    storage:\n      gb_month: 0\n", `p.yaml:4: "0" is not a price above 0`},
		{begin + "    storage:\n      gb_month: cheap\n",
			`p.yaml:4: "cheap" is not a price above 0`},
		{begin + "    storage:\n      gb_month: .nan\n", `p.yaml:4: ".nan" is not a price above 0`},
		{begin + "    storage:\n      date: 13.5.2026\n",
			`p.yaml:4: "13.5.2026" is not a date of the form 2026-05-13`},
		{begin + "    storage:\n      gb_month: 1\n",
			`p.yaml: region "here": storage has no source, or no date`},
		{begin + "    on_demand: {write_million: 1, source: x, date: 2026-05-13}\n",
			`p.yaml: region "here": on_demand lacks a price, or what it is of`},
		{begin + "    nodes: {source: x, date: 2026-05-13, kinds: [{name: m, cores: 4, " +
			"memory_gib: 1, hour: 1}]}\n",
			`p.yaml: region "here": node "m" lacks disk_gb`},
		{begin + "    nodes: {source: x, date: 2026-05-13, kinds: [{name: m, cores: 4}]}\n",
			`p.yaml: region "here": machine "m" lacks a name, cores, memory_gib or hour`},
		{begin + "    machines: {source: x, date: 2026-05-13, kinds: [{name: m, cores: 4, " +
			"memory_gib: 1, hour: 1}]}\n",
			`p.yaml: region "here": machines and disk have prices together, or none`},
		{"regions:\n  - storage: {gb_month: 1, source: x, date: 2026-05-13}\n",
			`p.yaml: region "": it has no name`},
		{"regions:\n\t- name: x\n", "p.yaml:2: "},
		{"regions: here\n", "p.yaml:1: "},
	} {
		_, err := ReadPrices("p.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			andon.KindOf(err) != andon.Invalid {
			t.Errorf("%q is refused with %v, want %s", c.text, err, c.want)
		}
	}
}

func TestOwnPrices(t *testing.T) {
	own, err := ReadPrices("own", []byte(`regions:
  - name: us-east-1
    storage: {gb_month: 0.1, source: our contract, date: 2026-01-01}
  - name: cellar
    machines:
      source: our cellar
      date: 2026-01-01
      kinds: [{name: old, cores: 4, memory_gib: 8, hour: 0.01}]
    disk: {gb_month: 0.02, most_gb: 4000, source: our cellar, date: 2026-01-01}
`))
	if err != nil {
		t.Fatal(err)
	}
	all := builtIn(t).Over(own)
	r, err := all.Region("us-east-1")
	if err != nil || r.Storage.GB.Value != 0.1 || r.OnDemand.Write.Value != 0.625 {
		t.Errorf("%v, %+v", err, r)
	}
	if was, _ := builtIn(t).Region("us-east-1"); was.Storage.GB.Value != 0.25 {
		t.Errorf("the built-in price became %v", was.Storage.GB)
	}
	if r, err = all.Region("cellar"); err != nil || r.Machines.List[0].Name != "old" {
		t.Errorf("%v, %+v", err, r)
	}
	_, err = all.Region("eu-nowhere-1")
	if err == nil || !strings.Contains(err.Error(), "those of cellar, eu-west-1, us-east-1;") {
		t.Errorf("an unknown region: %v", err)
	}
}

// TestOldPrices: a price is old a year after its date, and not on the day itself.
func TestOldPrices(t *testing.T) {
	r, err := builtIn(t).Region("eu-west-1")
	if err != nil {
		t.Fatal(err)
	}
	day := func(text string) time.Time {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for at, want := range map[string]bool{"2026-08-28": false, "2026-08-29": true} {
		for _, s := range r.sources(day(at)) {
			if s.Old != want || s.Source == "" || s.Date != "2025-08-28" {
				t.Errorf("on %s: %+v", at, s)
			}
		}
	}
}
