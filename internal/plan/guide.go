package plan

import (
	"fmt"
	"math"
)

// Claim is a figure of the guide to time series, beside what it is.
type Claim struct {
	What  string `json:"what"`
	Guide string `json:"guide"` // as the guide has it
	Is    string `json:"is"`
	How   string `json:"how"`
}

// GuideOption is what one of the guide's three options costs a month.
type GuideOption struct {
	Name    string  `json:"name"`
	Writing float64 `json:"writing_month"`
	Storage float64 `json:"storage_month"`
	Total   float64 `json:"total_month"`
	Note    string  `json:"note"`
}

// Guide is the arithmetic of the guide to time series.
type Guide struct {
	Claims  []Claim       `json:"claims"`
	Options []GuideOption `json:"options"`
}

// What the guide goes by.
const (
	guideRate        = 10_000 // writes a second
	guideProvisioned = 5_000  // units
	guideOldPrice    = 1.25   // of a million write units on demand, until 2024-10-31
	guideKept        = 30     // days
)

// MakeGuide works out what the guide's options cost, with the item that the store writes for a
// reading of the guide's three metrics.
func MakeGuide(in Input) (g Guide, err error) {
	var item *ItemWrite
	for _, l := range in.Layouts {
		if l.Metered == nil || l.NoReadings {
			continue
		}
		for i := range l.Metered.Writes {
			if w := &l.Metered.Writes[i]; w.Per == PerReading && w.Kept {
				item = w
			}
		}
	}
	r := in.Region
	if item == nil || !r.OnDemand.has() || !r.Provisioned.has() || !r.Storage.has() {
		return g, fmt.Errorf("region %s lacks prices of units and storage", r.Name)
	}
	g.Claims = claims(&r)
	g.Options = options(&r, item)
	return g, nil
}

// dollars writes an amount, without cents where it has more than three digits.
func dollars(x float64) string {
	if x < 1000 {
		return fmt.Sprintf("$%.2f", x)
	}
	return "$" + show(math.Round(x))
}

func claims(r *Region) []Claim {
	month := float64(guideRate) * monthSeconds / 1e6 // millions
	fixed := guideProvisioned * monthHours * r.Provisioned.Write.Value
	needed := math.Ceil(guideRate / 0.7)
	scaled := needed * monthHours * r.Provisioned.Write.Value
	return []Claim{
		{"writes a day", "26 million", show(guideRate*daySeconds/1e6) + " million",
			"10,000/s x 86,400 s; 26 billion is a month"},
		{"a month on demand, at the guide's $1.25", "$12,500", dollars(month * guideOldPrice),
			fmt.Sprintf("%s million units x $%g", show(month), guideOldPrice)},
		{"a month on demand, at the present price", "", dollars(month * r.OnDemand.Write.Value),
			fmt.Sprintf("%s million units x $%g", show(month), r.OnDemand.Write.Value)},
		{"a write unit an hour, provisioned", "$0.65",
			fmt.Sprintf("$%g", r.Provisioned.Write.Value),
			fmt.Sprintf("at $0.65, 5,000 units would be %s a month",
				dollars(guideProvisioned*monthHours*0.65))},
		{"5,000 provisioned units a month", "$2,300", dollars(fixed),
			fmt.Sprintf("5,000 x %d h x $%g", monthHours, r.Provisioned.Write.Value)},
		{"units for 10,000 writes a second at 70 %", "5,000", show(needed),
			"10,000 / 0.7; 5,000 units take 5,000 writes of 1 KB a second"},
		{"a month of these, provisioned", "$2,300 and a buffer",
			dollars(scaled),
			fmt.Sprintf("%s x %d h x $%g", show(needed), monthHours, r.Provisioned.Write.Value)},
		{"on demand beside provisioned", "30 % more",
			show(100*(month*r.OnDemand.Write.Value/scaled-1)) + " % more",
			"for writes at a steady rate"},
	}
}

// options are the three of the guide, side by side.
func options(r *Region, item *ItemWrite) []GuideOption {
	units := WriteUnits(0, item.After, false)
	stored := guideRate * daySeconds * guideKept * float64(item.After+overhead) / gib
	storage := stored * r.Storage.GB.Value
	onDemand := guideRate * units * monthSeconds / 1e6 * r.OnDemand.Write.Value
	scaled := math.Ceil(guideRate*units/0.7) * monthHours * r.Provisioned.Write.Value
	kept := fmt.Sprintf("%s GB kept for %d days, %d bytes an item and %d", show(stored), guideKept,
		item.After, overhead)
	return []GuideOption{
		{"on demand", onDemand, storage, onDemand + storage, kept},
		{"provisioned with auto scaling", scaled, storage, scaled + storage,
			"as long as the rate changes slowly; a sudden burst is throttled for minutes"},
		{"provisioned, and sharding", scaled, storage, scaled + storage,
			"a write costs the same; a question of a device reads each of its shards, " +
				"so with 4 shards its least cost is 4 units and not 1"},
	}
}
