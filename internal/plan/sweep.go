package plan

import (
	"math"
	"slices"
)

// Sweep is what each store costs for fleets of different size.
type Sweep struct {
	Devices []int    `json:"devices"`
	Series  []Series `json:"series"`
	// Crossings are the sizes of the fleet at which another store becomes the cheapest.
	Crossings []Crossing `json:"crossings"`
}

// Series is what the cheapest layout of a store that holds costs a month; -1 where none holds.
type Series struct {
	Store string    `json:"store"`
	Cost  []float64 `json:"cost_month"`
}

// Crossing is where the cheapest store changes. From or To is "" where none holds.
type Crossing struct {
	Devices int    `json:"devices"` // the first with To
	From    string `json:"from"`
	To      string `json:"to"`
	// Why says what is in the way of the former one from there on; "" where it only costs more.
	Why string `json:"why,omitempty"`
}

// stepsOfDecade is how many sizes there are from one power of ten to the next.
const stepsOfDecade = 4

// MakeSweep works out a sweep over a number of devices, from one power of ten to another.
func MakeSweep(in Input, from, to int) Sweep {
	var w Sweep
	for step := 0; ; step++ {
		devices := int(math.Round(float64(from) * math.Pow(10, float64(step)/stepsOfDecade)))
		if devices > to {
			break
		}
		w.Devices = append(w.Devices, devices)
	}
	for i := 1; i < len(w.Devices); i++ {
		w.Crossings = in.cross(w.Crossings, w.Devices[i-1], w.Devices[i])
	}
	for _, c := range w.Crossings { // so that a line ends where its store does
		w.Devices = append(w.Devices, c.Devices-1)
	}
	slices.Sort(w.Devices)
	w.Devices = slices.Compact(w.Devices)
	for _, store := range stores(in.Layouts) {
		w.Series = append(w.Series, Series{Store: store})
	}
	for _, devices := range w.Devices {
		costs := in.costs(devices)
		for i := range w.Series {
			cost, ok := costs[w.Series[i].Store]
			if !ok {
				cost = -1
			}
			w.Series[i].Cost = append(w.Series[i].Cost, cost)
		}
	}
	return w
}

// stores are the names of the stores of layouts, each once.
func stores(all []Layout) (names []string) {
	for _, l := range all {
		if !slices.Contains(names, l.Store) {
			names = append(names, l.Store)
		}
	}
	return names
}

// costs is what the cheapest layout of each store costs that holds, for so many devices.
func (in *Input) costs(devices int) map[string]float64 {
	costs := map[string]float64{}
	for _, r := range in.with(devices) {
		if best, ok := costs[r.Store]; r.Holds && r.Priced && (!ok || r.Cost < best) {
			costs[r.Store] = r.Cost
		}
	}
	return costs
}

// with are the results for so many devices.
func (in *Input) with(devices int) []Result {
	other := *in
	other.Traffic.Devices = devices
	all := make([]Result, len(in.Layouts))
	for i := range in.Layouts {
		all[i] = other.result(&in.Layouts[i])
	}
	return all
}

// best is the cheapest store for so many devices; "" where none holds.
func (in *Input) best(devices int) string {
	all := in.with(devices)
	if i := cheapest(all, func(*Result) bool { return true }); i >= 0 {
		return all[i].Store
	}
	return ""
}

// cross adds the crossings between two sizes, of which there may be several.
func (in *Input) cross(all []Crossing, low, high int) []Crossing {
	for {
		was := in.best(low)
		if was == in.best(high) {
			return all
		}
		at := last(low, high, func(devices int) bool { return in.best(devices) == was })
		c := Crossing{Devices: at + 1, From: was, To: in.best(at + 1)}
		if _, holds := in.costs(at + 1)[was]; !holds && was != "" {
			c.Why = in.obstacle(was, at)
		}
		all = append(all, c)
		low = at + 1
	}
}

// obstacle says what is in the way of a store with one device more, in the layout that is the
// cheapest until then.
func (in *Input) obstacle(store string, devices int) string {
	i := cheapest(in.with(devices), func(r *Result) bool { return r.Store == store })
	return in.with(devices + 1)[i].Why[0]
}
