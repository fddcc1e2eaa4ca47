// Package plan works out what a fleet needs of each store, and what that costs a month. What goes
// in is the traffic, the prices and what a store writes; what comes out is figures, each with the
// arithmetic that led to it. It does no I/O, asks no clock and knows no engine: an adapter
// describes its store as Layouts, and what was measured of it is in measured.yaml.
package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// hours and seconds of a month, as the providers count: a twelfth of a year of 365 days.
const (
	monthHours   = 730
	monthSeconds = monthHours * 3600
	daySeconds   = 86400
)

// Input is all that a plan is made from.
type Input struct {
	Traffic  Traffic
	Layouts  []Layout
	Region   Region
	Measured Measured
	Now      time.Time // which prices are old
}

// Plan is what each store needs and costs.
type Plan struct {
	Traffic Traffic  `json:"traffic"`
	Rates   []Rate   `json:"rates"`
	Region  string   `json:"region"`
	Results []Result `json:"results"` // in the order of the layouts
	// Cheapest is the place in Results of the cheapest that holds, -1 where none does; Next is that
	// of the cheapest of another store.
	Cheapest int `json:"cheapest"`
	Next     int `json:"next"`
	// Prices say where each price is from.
	Prices []PriceSource `json:"prices"`
}

// Result is what one layout of a store needs.
type Result struct {
	Store  string `json:"store"`
	Layout string `json:"layout,omitempty"`
	// Holds is false where something is in the way, which Why says.
	Holds bool     `json:"holds"`
	Why   []string `json:"why,omitempty"`
	// Survives says that the store goes on while one machine is down.
	Survives bool `json:"survives"`
	// Most is how many devices hold at most, with the other traffic of the fleet as it is.
	Most int `json:"most_devices"`
	// Beyond says what is in the way of more; "" where nothing is.
	Beyond string `json:"beyond,omitempty"`
	// Priced is false where the region has no price of what is needed.
	Priced bool    `json:"priced"`
	Cost   float64 `json:"cost_month"` // of the cheapest of Ways
	Way    string  `json:"way"`
	Ways   []Way   `json:"ways"`
	// Operations are what one event, reading or query costs in units.
	Operations []Operation `json:"operations,omitempty"`
	Parts      []Part      `json:"parts,omitempty"`
	Pieces     []Piece     `json:"partitions,omitempty"`
	Nodes      int         `json:"nodes,omitempty"`   // of a cluster
	Servers    int         `json:"servers,omitempty"` // machines that Andon runs on
	Disk       float64     `json:"disk_bytes"`
	Notes      []string    `json:"notes,omitempty"`
	// Figures are the arithmetic, line by line.
	Figures []Figure `json:"figures"`
}

// Name is the store and its layout.
func (r *Result) Name() string {
	if r.Layout == "" {
		return r.Store
	}
	return r.Store + " " + r.Layout
}

// Way is one way to pay.
type Way struct {
	Name string  `json:"name"`
	Cost float64 `json:"cost_month"`
}

// Figure is one line of the arithmetic.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	How   string  `json:"how"`
	// Measured names the measurement that the figure is from.
	Measured string `json:"measured,omitempty"`
}

// sheet is where a result is worked out.
type sheet struct {
	in     *Input
	result Result
	// The machines that Andon runs on in front of a store elsewhere; "" where they have no price.
	machines     string
	machinesCost float64
}

func (s *sheet) note(name string, value float64, unit, how string, args ...any) float64 {
	s.result.Figures = append(s.result.Figures, Figure{
		Name: name, Value: value, Unit: unit, How: fmt.Sprintf(how, args...),
	})
	return value
}

func (s *sheet) take(m Measurement) float64 {
	s.result.Figures = append(s.result.Figures, Figure{
		Name: m.What, Value: m.Value, Unit: m.Unit, How: "measured", Measured: m.Measured,
	})
	return m.Value
}

func (s *sheet) fails(format string, args ...any) {
	s.result.Why = append(s.result.Why, fmt.Sprintf(format, args...))
}

func (s *sheet) remark(format string, args ...any) {
	s.result.Notes = append(s.result.Notes, fmt.Sprintf(format, args...))
}

func (s *sheet) way(name string, cost float64) {
	s.result.Ways = append(s.result.Ways, Way{name, cost})
	s.result.Priced = true
}

// Make works out a plan.
func Make(in Input) Plan {
	p := Plan{
		Traffic: in.Traffic, Rates: in.Traffic.rates(), Region: in.Region.Name,
		Prices: in.Region.sources(in.Now),
	}
	for i := range in.Layouts {
		r := in.result(&in.Layouts[i])
		r.Most, r.Beyond = in.most(&in.Layouts[i])
		p.Results = append(p.Results, r)
	}
	p.Cheapest = cheapest(p.Results, func(*Result) bool { return true })
	p.Next = -1
	if p.Cheapest >= 0 {
		p.Next = cheapest(p.Results, func(r *Result) bool {
			return r.Store != p.Results[p.Cheapest].Store
		})
	}
	return p
}

// result works out what one layout needs.
func (in *Input) result(l *Layout) Result {
	s := &sheet{in: in, result: Result{
		Store: l.Store, Layout: l.Name, Survives: l.Survives, Notes: l.Notes,
	}}
	if in.Traffic.ReadingsEvery > 0 && l.NoReadings {
		s.fails("it keeps no readings")
	}
	for _, name := range l.Unserved {
		if in.Traffic.Queries[name] > 0 {
			s.fails("it does not serve %s", QueryNames()[name])
		}
	}
	if in.Traffic.Survive && !l.Survives {
		s.fails("it does not go on while its machine is down")
	}
	switch {
	case l.Metered != nil:
		s.metered(l.Metered)
	case l.Cluster != nil:
		s.cluster(l.Cluster)
	case l.Machine != nil:
		s.machine(l.Machine)
	}
	r := s.result
	r.Holds = len(r.Why) == 0
	if len(r.Ways) > 0 {
		best := slices.MinFunc(r.Ways, func(a, b Way) int { return cmp.Compare(a.Cost, b.Cost) })
		r.Cost, r.Way = best.Cost, best.Name
	}
	return r
}

// cheapest returns the place of the cheapest result that holds and has a price; -1 where none does.
func cheapest(all []Result, of func(*Result) bool) int {
	best := -1
	for i := range all {
		r := &all[i]
		if r.Holds && r.Priced && of(r) && (best < 0 || r.better(&all[best])) {
			best = i
		}
	}
	return best
}

// better reports whether a result is better than another: it costs less, or the same and holds more
// devices, or there is less to say about it.
func (r *Result) better(o *Result) bool {
	return cmp.Or(cmp.Compare(r.Cost, o.Cost), cmp.Compare(o.Most, r.Most),
		cmp.Compare(len(r.Notes), len(o.Notes))) < 0
}

// mostDevices bounds what is looked for.
const mostDevices = 1_000_000_000

// most returns how many devices hold at most, and what is in the way of more; 0 where not even one
// does.
func (in *Input) most(l *Layout) (devices int, beyond string) {
	one := *in
	one.Layouts = []Layout{*l}
	holds := func(devices int) bool { return one.with(devices)[0].Holds }
	if holds(1) {
		devices = last(1, mostDevices, holds)
	}
	if r := one.with(devices + 1)[0]; len(r.Why) > 0 {
		beyond = r.Why[0]
	}
	return devices, beyond
}

// last returns the greatest number between two for which something holds, where it holds for the
// first.
func last(low, high int, holds func(int) bool) int {
	if holds(high) {
		return high
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		if holds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Show writes a number for the arithmetic, and for people: with thousands apart, and with three
// digits at least.
func Show(x float64) string {
	digits := 0
	for edge := 100.0; digits < 6 && math.Abs(x) < edge && x != math.Trunc(x); edge /= 10 {
		digits++
	}
	text := strconv.FormatFloat(x, 'f', digits, 64)
	point := len(text)
	if digits > 0 {
		point = len(text) - digits - 1
	}
	for i := point - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
