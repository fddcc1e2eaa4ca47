package plan

import "slices"

// Sweep is what each store costs for fleets of different sizes.
type Sweep struct {
	Stores []string `json:"stores"`
	Sizes  []Size   `json:"sizes"`
	// Crossings are the sizes of the fleet at which another store becomes the cheapest.
	Crossings []Crossing `json:"crossings"`
}

// Size is what each store costs a month for one size of the fleet, in its cheapest layout that
// holds. A store of which no layout holds is missing.
type Size struct {
	Devices int                `json:"devices"`
	Cost    map[string]float64 `json:"cost_month"`
}

// Crossing is where the cheapest store changes. From or To is "" where none holds.
type Crossing struct {
	Devices int    `json:"devices"` // the first with To
	From    string `json:"from"`
	To      string `json:"to"`
	// Why says what makes the former one fail from there on; "" where it only costs more.
	Why string `json:"why,omitempty"`
}

// MakeSweep works out a sweep from one power of ten of devices to another: 1, 2 and 5 times each.
func MakeSweep(in Input, from, to int) Sweep {
	var w Sweep
	for _, l := range in.Layouts {
		if !slices.Contains(w.Stores, l.Store) {
			w.Stores = append(w.Stores, l.Store)
		}
	}
	last := from
	for power := from; power <= to; power *= 10 {
		for _, times := range []int{1, 2, 5} {
			devices := times * power
			if devices > to {
				break
			}
			w.Crossings = in.cross(w.Crossings, last, devices)
			w.Sizes = append(w.Sizes, Size{devices, in.costs(devices)})
			last = devices
		}
	}
	return w
}

// costs returns what the cheapest layout of each store that holds costs, for a number of devices.
func (in *Input) costs(devices int) map[string]float64 {
	costs := map[string]float64{}
	for _, r := range in.with(devices) {
		if best, ok := costs[r.Store]; r.Holds && r.Priced && (!ok || r.Cost < best) {
			costs[r.Store] = r.Cost
		}
	}
	return costs
}

func (in *Input) with(devices int) []Result {
	other := *in
	other.Traffic.Devices = devices
	all := make([]Result, len(in.Layouts))
	for i := range in.Layouts {
		all[i] = other.result(&in.Layouts[i])
	}
	return all
}

// best returns the cheapest store for a number of devices; "" where none holds.
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
		former := in.best(low)
		if former == in.best(high) {
			return all
		}
		end := last(low, high, func(devices int) bool { return in.best(devices) == former })
		c := Crossing{Devices: end + 1, From: former, To: in.best(end + 1)}
		if _, holds := in.costs(end + 1)[former]; !holds && former != "" {
			c.Why = in.obstacle(former, end)
		}
		all = append(all, c)
		low = end + 1
	}
}

// obstacle says why a store fails with one device more, in the layout that is the cheapest until
// then.
func (in *Input) obstacle(store string, devices int) string {
	i := cheapest(in.with(devices), func(r *Result) bool { return r.Store == store })
	return in.with(devices + 1)[i].Why[0]
}
