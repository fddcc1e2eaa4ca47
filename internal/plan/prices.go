package plan

import (
	"bytes"
	_ "embed" // the prices, and what was measured
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/andonhq/andon"
)

//go:embed prices.yaml
var builtInPrices string

// PricesText is the file of the built-in prices, to be copied and changed.
func PricesText() string { return builtInPrices }

// Prices are what things cost, by region.
type Prices struct {
	Regions []Region `yaml:"regions"`
}

// Region is what things cost in one region, in US dollars. Each field after the name is a group of
// prices; a group that has none is zero.
type Region struct {
	Name        string      `yaml:"name"`
	OnDemand    OnDemand    `yaml:"on_demand" about:"units on demand"`
	Provisioned Provisioned `yaml:"provisioned" about:"provisioned units"`
	Storage     Storage     `yaml:"storage" about:"storage"`
	Recovery    Storage     `yaml:"recovery" about:"point-in-time recovery"`
	Alarms      Alarms      `yaml:"alarms" about:"alarms"`
	Machines    Machines    `yaml:"machines" about:"machines"`
	Nodes       Machines    `yaml:"nodes" about:"nodes"`
	Disk        Disk        `yaml:"disk" about:"disks"`
}

// Origin is where prices are from.
type Origin struct {
	Source string `yaml:"source"`
	Date   Date   `yaml:"date"`
}

// OnDemand are the prices of a million units.
type OnDemand struct {
	Origin `yaml:",inline"`
	Write  Price `yaml:"write_million"`
	Read   Price `yaml:"read_million"`
}

// Provisioned are the prices of a unit a second, for an hour.
type Provisioned struct {
	Origin `yaml:",inline"`
	Write  Price `yaml:"write_hour"`
	Read   Price `yaml:"read_hour"`
}

// Storage is the price of a GB (2^30 bytes) of a metered store for a month.
type Storage struct {
	Origin `yaml:",inline"`
	GB     Price `yaml:"gb_month"`
}

// Alarms is the price of a metric that an alarm watches, for a month.
type Alarms struct {
	Origin `yaml:",inline"`
	Metric Price `yaml:"metric_month"`
}

// Machines are kinds of machines, the smallest first.
type Machines struct {
	Origin `yaml:",inline"`
	List   []Machinery `yaml:"kinds"`
}

// Machinery is one kind of machine.
type Machinery struct {
	Name      string  `yaml:"name"`
	Cores     int     `yaml:"cores"`
	MemoryGiB float64 `yaml:"memory_gib"`
	DiskGB    float64 `yaml:"disk_gb"` // of its own; 0: it has none
	Hour      Price   `yaml:"hour"`
}

// Disk is the price of a GB of a disk of a machine, and how large one can be.
type Disk struct {
	Origin `yaml:",inline"`
	GB     Price `yaml:"gb_month"`
	Most   Price `yaml:"most_gb"`
}

// Price is an amount of dollars above 0, or another number that must be.
type Price struct{ Value float64 }

// UnmarshalYAML implements yaml.Unmarshaler.
func (p *Price) UnmarshalYAML(n *yaml.Node) error {
	err := n.Decode(&p.Value)
	if err != nil || p.Value <= 0 || math.IsInf(p.Value, 0) || math.IsNaN(p.Value) {
		return fmt.Errorf("line %d: %q is not a price above 0", n.Line, n.Value)
	}
	return nil
}

// Date is a day.
type Date struct{ time.Time }

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *Date) UnmarshalYAML(n *yaml.Node) (err error) {
	if d.Time, err = time.Parse(time.DateOnly, n.Value); err != nil {
		return fmt.Errorf("line %d: %q is not a date of the form 2026-05-13", n.Line, n.Value)
	}
	return nil
}

// ReadPrices reads a file of prices. The error names the place: "prices.yaml:3: ...".
func ReadPrices(name string, text []byte) (Prices, error) {
	var p Prices
	if err := readYAML(name, text, &p); err != nil {
		return p, err
	}
	for i := range p.Regions {
		if err := p.Regions[i].check(); err != nil {
			return p, andon.Errorf(andon.Invalid, "%s: region %q: %w", name, p.Regions[i].Name, err)
		}
	}
	if len(p.Regions) == 0 {
		return p, andon.Errorf(andon.Invalid, "%s: there is no region", name)
	}
	return p, nil
}

type group struct {
	name, about string
	Origin
	field int // of the Region
	value reflect.Value
}

func (r *Region) groups() (all []group) {
	v := reflect.ValueOf(r).Elem()
	for i := 1; i < v.NumField(); i++ {
		tag, f := v.Type().Field(i).Tag, v.Field(i)
		if !f.IsZero() {
			all = append(all, group{tag.Get("yaml"), tag.Get("about"),
				f.Field(0).Interface().(Origin), i, f})
		}
	}
	return all
}

// check finds what is missing. Each group is optional, but nothing in it.
func (r *Region) check() error {
	if r.Name == "" {
		return errors.New("it has no name")
	}
	for _, g := range r.groups() {
		for i := 1; i < g.value.NumField(); i++ {
			if g.value.Field(i).IsZero() {
				return fmt.Errorf("%s lacks a price, or what it is of", g.name)
			}
		}
		if g.Source == "" || g.Date.IsZero() {
			return fmt.Errorf("%s has no source, or no date", g.name)
		}
	}
	for _, kind := range slices.Concat(r.Machines.List, r.Nodes.List) {
		if kind.Name == "" || kind.Cores <= 0 || kind.MemoryGiB <= 0 || kind.Hour.Value <= 0 {
			return fmt.Errorf("machine %q lacks a name, cores, memory_gib or hour", kind.Name)
		}
	}
	noDisk := func(m Machinery) bool { return m.DiskGB <= 0 }
	if i := slices.IndexFunc(r.Nodes.List, noDisk); i >= 0 {
		return fmt.Errorf("node %q lacks disk_gb", r.Nodes.List[i].Name)
	}
	if (len(r.Machines.List) > 0) != (r.Disk != Disk{}) {
		return errors.New("machines and disk have prices together, or none")
	}
	return nil
}

var (
	yamlPlace = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)
	noField   = regexp.MustCompile(`field (\S+) not found in type \S+`)
)

// readYAML reads one document into a value. A field that it does not have is an error.
func readYAML(name string, text []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	err := d.Decode(into)
	if errors.Is(err, io.EOF) {
		return andon.Errorf(andon.Invalid, "%s: it is empty", name)
	}
	var all *yaml.TypeError
	if errors.As(err, &all) {
		err = errors.New(all.Errors[0])
	}
	if err == nil {
		return nil
	}
	what := noField.ReplaceAllString(err.Error(), `"$1" is not a field here`)
	if m := yamlPlace.FindStringSubmatch(what); m != nil {
		return andon.Errorf(andon.Invalid, "%s:%s: %s", name, m[1], what[len(m[0]):])
	}
	return andon.Errorf(andon.Invalid, "%s: %s", name, what)
}

// Over returns the prices with those of another file above them: a group that it has of a region
// takes the place of that group.
func (p Prices) Over(other Prices) Prices {
	all := slices.Clone(p.Regions)
	for _, r := range other.Regions {
		i := slices.IndexFunc(all, func(is Region) bool { return is.Name == r.Name })
		if i < 0 {
			all = append(all, r)
			continue
		}
		all[i].take(&r)
	}
	return Prices{all}
}

func (r *Region) take(over *Region) {
	for _, g := range over.groups() {
		reflect.ValueOf(r).Elem().Field(g.field).Set(g.value)
	}
}

// Region returns one by its name.
func (p Prices) Region(name string) (Region, error) {
	var names []string
	for _, r := range p.Regions {
		if r.Name == name {
			return r, nil
		}
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return Region{}, andon.Errorf(andon.Invalid, "region %q has no prices: there are those "+
		"of %s; --prices can add others", name, strings.Join(names, ", "))
}

// PriceSource says where the prices of a group are from.
type PriceSource struct {
	Of     string `json:"of"`
	Source string `json:"source"`
	Date   string `json:"date"`
	Old    bool   `json:"old"` // it is older than a year
}

func (r *Region) sources(now time.Time) (all []PriceSource) {
	for _, g := range r.groups() {
		all = append(all, PriceSource{g.about, g.Source, g.Date.Format(time.DateOnly),
			g.Date.AddDate(1, 0, 0).Before(now)})
	}
	return all
}

//go:embed measured.yaml
var measuredText []byte

// Measured is what was measured of the stores, and what the planner goes by.
type Measured struct {
	// Server is what a request costs over HTTP, and Guide what is a rule and no measurement.
	Server map[string]Measurement `yaml:"server"`
	Guide  map[string]Measurement `yaml:"guide"`
	// Stores are the figures of each store, by its name.
	Stores map[string]map[string]Measurement `yaml:"stores"`
}

// Measurement is one figure.
type Measurement struct {
	What  string  `yaml:"what"`
	Value float64 `yaml:"value"`
	Unit  string  `yaml:"unit"`
	// Of is what it was measured with: the bytes of an event, the metrics of a reading.
	Of float64 `yaml:"of"`
	// Measured names the measurement, or where a rule is from.
	Measured string `yaml:"measured"`
}

// ReadMeasured returns what is built in.
func ReadMeasured() (m Measured, err error) {
	return m, readYAML("measured.yaml", measuredText, &m)
}
