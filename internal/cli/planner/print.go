package planner

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/plan"
)

// print prints a report for a person. A sweep is printed without the plan of one size.
func (r *planner) print(out *report) {
	p := r.Printer()
	printTraffic(p, out)
	if out.Sweep != nil {
		printSweep(p, out.Sweep)
	} else {
		printRates(p, out)
		printResults(p, out)
		printConclusion(p, out)
	}
	if r.explain {
		printFigures(p, out)
	}
	r.printPrices(p, out)
}

func printTraffic(p draw.Printer, out *report) {
	t := &out.Traffic
	line, kept := draw.Grouped(t.Devices)+" devices", ""
	if t.Interval > 0 {
		line += fmt.Sprintf(", an event of %d bytes every %s", t.EventBytes,
			andon.DurationOf(t.Interval))
		kept += fmt.Sprintf("Events are kept for %s. ", andon.DurationOf(t.Retention))
	}
	if t.ReadingsEvery > 0 {
		line += fmt.Sprintf(", %s every %s", draw.Count(t.Metrics, "metric"),
			andon.DurationOf(t.ReadingsEvery))
		kept += fmt.Sprintf("Readings are kept for %s. ", andon.DurationOf(t.ReadingsRetention))
	}
	p.Line("%s", line)
	p.Line("%sPrices of %s; a month has 730 hours.", kept, out.Region)
}

func printRates(p draw.Printer, out *report) {
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

// table prints rows after an empty line. Their cells from a column on are numbers.
func table(p draw.Printer, rows [][]draw.Cell, numbers int) {
	for _, row := range rows {
		for i := numbers; i < len(row); i++ {
			row[i].Right = true
		}
	}
	p.Line("")
	p.Table(rows)
}

func printResults(p draw.Printer, out *report) {
	rows := [][]draw.Cell{draw.Texts("STORE", "HOLDS", "PAID FOR", "A MONTH", "ON DISKS",
		"HOLDS UNTIL")}
	var notes []string
	for i := range out.Results {
		r := &out.Results[i]
		holds := "yes"
		if !r.Holds {
			holds = "no"
		}
		first := draw.Texts(r.Name(), holds, "no price", "", draw.Bytes(uint64(r.Disk)),
			until(r.Most))
		for n, w := range r.Ways {
			if n > 0 {
				rows, first = append(rows, first), draw.Texts("", "", "", "", "", "")
			}
			first[2].Text, first[3].Text = w.Name, "$"+dollars(w.Cost)
		}
		rows = append(rows, first)
		for _, why := range r.Why {
			notes = append(notes, fmt.Sprintf("  %s: %s.", r.Name(), why))
		}
	}
	table(p, rows, 3)
	for _, note := range notes {
		p.Line("%s", note)
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

func dollars(x float64) string {
	whole, cents, _ := strings.Cut(fmt.Sprintf("%.2f", x), ".")
	n, err := strconv.Atoi(whole)
	if err != nil { // too large to group
		return whole + "." + cents
	}
	return draw.Grouped(n) + "." + cents
}

// printConclusion says which is the cheapest, and at what size one machine is too small.
func printConclusion(p draw.Printer, out *report) {
	p.Line("")
	if out.Cheapest < 0 {
		p.Line("No store with a price holds this fleet.")
	} else {
		r := &out.Results[out.Cheapest]
		p.Line("The cheapest that holds is %s, %s: $%s a month.", r.Name(), r.Way, dollars(r.Cost))
		if out.Next >= 0 {
			n := &out.Results[out.Next]
			p.Line("The next store is %s, %s: $%s a month.", n.Name(), n.Way, dollars(n.Cost))
		}
	}
	for i := range out.Results {
		r := &out.Results[i]
		if !r.Survives && r.Beyond != "" {
			p.Line("You outgrow one machine at %s devices: %s.", until(r.Most), r.Beyond)
		}
		for _, note := range r.Notes {
			p.Line("%s: %s.", r.Name(), note)
		}
	}
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
	rows := [][]draw.Cell{append(draw.Texts("DEVICES"), draw.Texts(w.Stores...)...)}
	for _, size := range w.Sizes {
		row := draw.Texts(draw.Grouped(size.Devices))
		for _, store := range w.Stores {
			text := "-"
			if cost, holds := size.Cost[store]; holds {
				text = "$" + dollars(cost)
			}
			row = append(row, draw.Texts(text)...)
		}
		rows = append(rows, row)
	}
	table(p, rows, 0)
	p.Line("")
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

// printPrices prints the dates of the prices, and marks those that are old. With the arithmetic it
// names the source of each.
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
