package planner

import (
	"fmt"
	"math"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/plan"
)

// print prints a report for a person: of a sweep, and of the guide, that alone.
func (r *planner) print(out *report) {
	p := r.Printer()
	if out.Guide == nil {
		r.printTraffic(p, out)
	}
	if out.Guide == nil && out.Sweep == nil {
		printRates(p, out)
		printResults(p, out)
		printConclusion(p, out)
		printParts(p, out)
	}
	if r.explain {
		printFigures(p, out)
	}
	if out.Sweep != nil {
		printSweep(p, out.Sweep)
	}
	if out.Guide != nil {
		printGuide(p, out.Guide)
	}
	r.printPrices(p, out)
}

func (r *planner) printTraffic(p draw.Printer, out *report) {
	t := &out.Traffic
	line := fmt.Sprintf("%s devices, an event of %d bytes every %s",
		draw.Grouped(t.Devices), t.EventBytes, andon.DurationOf(t.Interval))
	if t.ReadingsEvery > 0 {
		line += fmt.Sprintf(", %s every %s", draw.Count(t.Metrics, "metric"),
			andon.DurationOf(t.ReadingsEvery))
	}
	p.Line("%s", line)
	kept := fmt.Sprintf("Events are kept for %s", andon.DurationOf(t.Retention))
	if t.ReadingsEvery > 0 {
		kept += fmt.Sprintf(", readings for %s", andon.DurationOf(t.ReadingsRetention))
	}
	p.Line("%s. Prices of %s; a month has 730 hours.", kept, out.Region)
	if m := out.Live; m != nil {
		p.Line("Measured on %s for %.0f s: %s.", m.URL, m.Seconds, strings.Join(m.Taken, ", "))
	}
}

func printRates(p draw.Printer, out *report) {
	p.Line("")
	rows := [][]draw.Cell{draw.Texts("TRAFFIC", "A SECOND", "AT THE PEAK", "A DAY", "A MONTH")}
	for _, rate := range out.Rates {
		if rate.Second > 0 {
			rows = append(rows, draw.Texts(rate.Kind, plan.Show(rate.Second),
				plan.Show(rate.Peak), plan.Show(math.Round(rate.Day)),
				plan.Show(math.Round(rate.Month))))
		}
	}
	table(p, rows, 1)
}

// table prints rows whose cells from a column on are numbers.
func table(p draw.Printer, rows [][]draw.Cell, numbers int) {
	for _, row := range rows {
		for i := numbers; i < len(row); i++ {
			row[i].Right = true
		}
	}
	p.Table(rows)
}

func printResults(p draw.Printer, out *report) {
	p.Line("")
	rows := [][]draw.Cell{draw.Texts("STORE", "HOLDS", "PAID FOR", "A MONTH", "ON DISKS",
		"HOLDS UNTIL")}
	for i := range out.Results {
		r := &out.Results[i]
		holds := "yes"
		if !r.Holds {
			holds = "no"
		}
		if len(r.Ways) == 0 {
			rows = append(rows, draw.Texts(r.Name(), holds, "no price", "", size(r.Disk),
				until(r.Most)))
		}
		for n, w := range r.Ways {
			name, disk, most := r.Name(), size(r.Disk), until(r.Most)
			if n > 0 {
				name, holds, disk, most = "", "", "", ""
			}
			rows = append(rows, draw.Texts(name, holds, w.Name, "$"+dollars(w.Cost), disk, most))
		}
	}
	table(p, rows, 3)
	for i := range out.Results {
		r := &out.Results[i]
		for _, why := range r.Why {
			p.Line("  %s: %s.", r.Name(), why)
		}
	}
}

func until(devices int) string {
	switch {
	case devices == 0:
		return "-"
	case devices >= 1_000_000_000:
		return "beyond 1,000,000,000"
	}
	return draw.Grouped(devices)
}

func size(bytes float64) string { return draw.Bytes(uint64(bytes)) }

func dollars(x float64) string {
	text := fmt.Sprintf("%.2f", x)
	whole, cents, _ := strings.Cut(text, ".")
	n := 0
	if _, err := fmt.Sscan(whole, &n); err != nil {
		return text
	}
	return draw.Grouped(n) + "." + cents
}

// printConclusion says which is the cheapest, by how much, and where one machine is outgrown.
func printConclusion(p draw.Printer, out *report) {
	p.Line("")
	if out.Cheapest < 0 {
		p.Line("No store with a price holds this fleet.")
	} else {
		r := &out.Results[out.Cheapest]
		p.Line("The cheapest that holds is %s, %s: $%s a month.", r.Name(), r.Way, dollars(r.Cost))
		if out.Next >= 0 {
			n := &out.Results[out.Next]
			p.Line("The next store is %s, %s: $%s, %s.", n.Name(), n.Way, dollars(n.Cost),
				margin(n.Cost/r.Cost))
		}
		if r.Most > out.Traffic.Devices && r.Most < 1_000_000_000 {
			p.Line("%s holds until the fleet is %.1f times as large.", r.Name(),
				float64(r.Most)/float64(out.Traffic.Devices))
		}
	}
	for i := range out.Results {
		if r := &out.Results[i]; !r.Survives && r.Beyond != "" {
			p.Line("You outgrow one machine at %s devices: %s.", until(r.Most), r.Beyond)
		}
	}
	for i := range out.Results {
		r := &out.Results[i]
		for _, note := range r.Notes {
			p.Line("%s: %s.", r.Name(), note)
		}
	}
}

// margin says how much more something costs.
func margin(times float64) string {
	if times < 2 {
		return fmt.Sprintf("%.0f %% more", 100*(times-1))
	}
	return fmt.Sprintf("%.1f times as much", times)
}

// printParts shows the units of each table, and the partitions.
func printParts(p draw.Printer, out *report) {
	for i := range out.Results {
		r := &out.Results[i]
		if len(r.Parts) == 0 || !r.Holds {
			continue
		}
		p.Heading("%s", r.Name())
		printOperations(p, r)
		rows := [][]draw.Cell{draw.Texts("TABLE OR INDEX", "WRITE UNITS/S", "READ UNITS/S",
			"PROVISIONED", "STORED")}
		for _, part := range r.Parts {
			rows = append(rows, draw.Texts(part.Name, plan.Show(part.Writes),
				plan.Show(part.Reads), plan.Show(part.ScaledWrites)+" and "+
					plan.Show(part.ScaledReads), size(part.Bytes)))
		}
		table(p, rows, 1)
	}
	printPieces(p, out)
}

// printPieces shows the partitions, once those that all layouts of a store have.
func printPieces(p draw.Printer, out *report) {
	var pieces [][]draw.Cell
	shown := map[string]bool{}
	for i := range out.Results {
		r := &out.Results[i]
		for _, piece := range r.Pieces {
			name := r.Store
			if shown[name+piece.Table] {
				continue
			}
			shown[name+piece.Table] = true
			if !r.Common(piece.Table, out.Results) {
				name = r.Name()
			}
			fits := "yes"
			if !piece.Fits {
				fits = "no"
			}
			pieces = append(pieces, draw.Texts(name, piece.Table, piece.Of, fits,
				plan.Show(math.Round(piece.Rows)), size(piece.Bytes)))
		}
	}
	if len(pieces) > 0 {
		p.Heading("Partitions: at most 100,000 rows and 100 MB")
		table(p, append([][]draw.Cell{draw.Texts("STORE", "TABLE", "BY", "FITS", "ROWS",
			"SIZE")}, pieces...), 4)
	}
}

// printOperations shows what one of each kind costs.
func printOperations(p draw.Printer, r *plan.Result) {
	rows := [][]draw.Cell{draw.Texts("EACH", "WRITE UNITS", "READ UNITS", "A MILLION")}
	for _, o := range r.Operations {
		rows = append(rows, draw.Texts(o.Name, plan.Show(o.Writes), plan.Show(o.Reads),
			"$"+dollars(o.Million)))
	}
	table(p, rows, 1)
	p.Line("")
}

func printFigures(p draw.Printer, out *report) {
	for i := range out.Results {
		r := &out.Results[i]
		p.Heading("The arithmetic of %s", r.Name())
		for _, f := range r.Figures {
			how := f.How
			if f.Measured != "" {
				how = "measured: " + f.Measured
			}
			value := plan.Show(f.Value) + " " + f.Unit
			if unit, isDollars := strings.CutPrefix(f.Unit, "$"); isDollars {
				value = "$" + dollars(f.Value) + unit
			}
			p.Line("  %s = %s  (%s)", f.Name, value, how)
		}
	}
}

func printSweep(p draw.Printer, w *plan.Sweep) {
	p.Heading("Cost a month by the number of devices")
	wide := 80
	if draw.IsTerminal(p.W) {
		wide, _ = draw.SizeOf(p.W)
	}
	fmt.Fprint(p.W, w.Chart(min(wide, 120)-8, 20))
	for _, s := range w.Series {
		p.Line("  %s is %s", s.Store[:1], s.Store)
	}
	for _, c := range w.Crossings {
		to := c.To
		if to == "" {
			to = "no store"
		}
		line := fmt.Sprintf("From %s devices on: %s", draw.Grouped(c.Devices), to)
		if c.From != "" {
			line += ", before: " + c.From
		}
		if c.Why != "" {
			line += " (" + c.Why + ")"
		}
		p.Line("  %s", line)
	}
}

func printGuide(p draw.Printer, g *plan.Guide) {
	p.Heading("The guide to time series: its figures, and what they are")
	rows := [][]draw.Cell{draw.Texts("WHAT", "THE GUIDE", "IT IS", "HOW")}
	for _, c := range g.Claims {
		rows = append(rows, draw.Texts(c.What, c.Guide, c.Is, c.How))
	}
	p.Table(rows)
	p.Heading("Its three options, for 10,000 readings a second")
	rows = [][]draw.Cell{draw.Texts("OPTION", "WRITING", "STORAGE", "A MONTH", "")}
	for _, o := range g.Options {
		row := draw.Texts(o.Name, "$"+dollars(o.Writing), "$"+dollars(o.Storage),
			"$"+dollars(o.Total), o.Note)
		for i := 1; i < 4; i++ {
			row[i].Right = true
		}
		rows = append(rows, row)
	}
	p.Table(rows)
}

// printPrices says of when the prices are. Those that are old are marked; all are named beside the
// arithmetic.
func (r *planner) printPrices(p draw.Printer, out *report) {
	if len(out.Prices) == 0 {
		return
	}
	p.Line("")
	first, last := out.Prices[0].Date, out.Prices[0].Date
	for _, s := range out.Prices {
		first, last = min(first, s.Date), max(last, s.Date)
		mark := ""
		if s.Old {
			mark = "OLDER THAN A YEAR: "
		}
		if s.Old || r.explain {
			p.Line("%sthe price of %s is of %s, from %s.", mark, s.Of, s.Date, s.Source)
		}
	}
	if !r.explain {
		p.Line("Prices are of %s to %s; --explain names their sources, and shows the arithmetic.",
			first, last)
	}
}
