// Package planner is the command "plan": it reads the traffic of a fleet and the prices, asks each
// engine what its store makes of that traffic, and prints what package plan works out. It must not
// work out anything itself.
package planner

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/plan"
	"github.com/andonhq/andon/internal/spell"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/all"
)

type planner struct {
	*command.Program
	fleet   *fleet
	engines all.Engines
	prices  string // a file of prices
	sweep   bool
	explain bool
	format  *command.Choice
}

// Command is "andon plan".
func Command(p *command.Program) *cobra.Command {
	r := &planner{Program: p, fleet: newFleet(), engines: all.New()}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Work out what a fleet needs of each store, and what that costs",
		Long: `Work out what a fleet needs of each store, and what that costs a month: events and
readings a second, storage, machines or units, and the cheapest store that holds. Flags describe the
traffic, or a YAML file with the same names (--file); a flag overrides the file.

What the stores write comes from the code that writes it. What they take of a machine was measured,
and --explain names each measurement next to the line of the arithmetic that uses it. Prices come
from a data file with their source and date: --print-prices prints it, and --prices overrides it by
a file of the same form. A price that is older than a year is marked.

--sweep shows what each store costs for 100 to 100,000,000 devices, and where another one becomes
the cheapest. With -o json there is every figure, also of each table, index and partition.

The settings of the stores count, too, as flags or in the file: --dynamodb-consistency eventual,
--dynamodb-metric-index, --cassandra-buckets.

The plan queries no store, and needs no account.`,
		Example: `  andon plan --devices 100000 --interval 5m --event-bytes 300
  andon plan --devices 100000 --readings-interval 10s --retention 30d --explain
  andon plan --file fleet.yaml --store dynamodb --region eu-west-1
  andon plan --sweep
  andon plan --print-prices > prices.yaml`,
	}
	groups := append([]config.Group{r.fleet.group()}, r.engines.Groups()...)
	sources := local.GroupFlags(cmd, "file", "YAML `file` to read the traffic from", groups)
	flags := cmd.Flags()
	flags.StringVar(&r.prices, "prices", "", "YAML `file` of prices that override the built-in "+
		"ones")
	onlyPrices := flags.Bool("print-prices", false, "print the built-in prices, and nothing else")
	flags.BoolVar(&r.sweep, "sweep", false, "the costs for 100 to 100,000,000 devices")
	flags.BoolVar(&r.explain, "explain", false, "show the arithmetic, line by line")
	r.format = command.ReportFlag(cmd)
	return p.Does(cmd, func(context.Context, []string) error {
		if *onlyPrices {
			_, err := fmt.Fprint(p, plan.PricesText())
			return err
		}
		if _, err := config.Load(sources(), groups...); err != nil {
			return err
		}
		return r.run()
	})
}

type report struct {
	plan.Plan
	Sweep *plan.Sweep `json:"sweep,omitempty"`
}

func (r *planner) run() error {
	in, err := r.input()
	if err != nil {
		return err
	}
	out := report{Plan: plan.Make(in)}
	if r.sweep {
		out.Sweep = new(plan.MakeSweep(in, 100, 100_000_000))
	}
	if r.format.Value == command.FormatJSON {
		return r.PrintJSON(out)
	}
	r.print(&out)
	return nil
}

func (r *planner) input() (in plan.Input, err error) {
	in.Traffic, in.Now = r.fleet.traffic, r.Now().Std()
	if in.Traffic.ReadingsEvery == 0 {
		in.Traffic.Queries[plan.AskReading] = 0 // there are none
	}
	if in.Traffic.Interval == 0 { // all but readings is of events
		in.Traffic.Queries = map[string]float64{
			plan.AskReading: in.Traffic.Queries[plan.AskReading],
		}
	}
	if in.Measured, err = plan.ReadMeasured(); err != nil {
		return in, err
	}
	prices, err := plan.ReadPrices("the built-in prices", []byte(plan.PricesText()))
	if err != nil {
		return in, err
	}
	if r.prices != "" {
		text, err := os.ReadFile(r.prices)
		if err != nil {
			return in, andon.Errorf(andon.Invalid, "read --prices: %w", err)
		}
		own, err := plan.ReadPrices(r.prices, text)
		if err != nil {
			return in, err
		}
		prices = prices.Over(own)
	}
	if in.Region, err = prices.Region(r.fleet.region); err != nil {
		return in, err
	}
	in.Layouts, err = r.layouts(&in.Traffic)
	return in, err
}

// layouts asks the chosen engines what they make of the traffic.
func (r *planner) layouts(t *plan.Traffic) (layouts []plan.Layout, err error) {
	sample, err := t.Sample()
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "event_bytes %w", err)
	}
	planned := map[string]adapter.Engine{}
	var names []string
	for _, e := range r.engines {
		if e.Place() != adapter.Memory {
			planned[e.Name()], names = e, append(names, e.Name())
		}
	}
	wanted := r.fleet.stores
	if slices.Contains(wanted, "all") {
		wanted = names
	}
	for _, name := range wanted {
		p := planned[name]
		if p == nil {
			return nil, andon.Errorf(andon.Invalid, "store %q can't be planned: there are %s and "+
				"all%s", name, strings.Join(names, ", "), spell.DidYouMean(name, names))
		}
		of, err := p.Layouts(sample)
		if err != nil {
			return nil, err
		}
		layouts = append(layouts, of...)
	}
	return layouts, nil
}
