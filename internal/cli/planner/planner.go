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
	"time"

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

// planner is what the flags of the command ask for.
type planner struct {
	*command.Program
	fleet   *fleet
	sources func() config.Sources
	target  command.Target // a running server to measure, where URL is not empty
	listen  time.Duration  // how long it is measured
	prices  string         // a file of prices
	sweep   bool
	svg     string // file of the picture of a sweep
	guide   bool
	explain bool
	format  *command.Choice
}

// Command is "andon plan".
func Command(p *command.Program) *cobra.Command {
	r := &planner{Program: p, fleet: newFleet()}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Work out what a fleet needs of each store, and what that costs",
		Long: `Work out what a fleet needs of each store, and what that costs a month: events and
readings a second, what is written and read for each, storage, machines or units, and the cheapest
store that holds. The traffic is said by flags, by a YAML file with the same names (--file), or
measured on a running server (--from-live); a flag goes before the file, and the file before what
was measured.

What the stores write comes from the code that writes it. What they take of a machine was measured,
and --explain names each measurement beside the line of the arithmetic that uses it. Prices are
those of a data file with their source and date: --print-prices prints it, and --prices puts a file
of the same form above it. A price that is older than a year is marked.

--sweep shows what each store costs for 100 to 100,000,000 devices, and where another one becomes
the cheapest. --guide sets the cost figures of the guide to time series beside what they are.

Nothing is asked of a store, and no account is needed.`,
		Example: `  andon plan --devices 100000 --interval 5m --event-bytes 300
  andon plan --devices 100000 --readings-interval 10s --retention 30d --explain
  andon plan --file fleet.yaml --store dynamodb --region eu-west-1
  andon plan --from-live http://127.0.0.1:8080 -o json
  andon plan --sweep --svg sweep.svg
  andon plan --print-prices > prices.yaml`,
	}
	r.sources = local.GroupFlags(cmd, "file", "YAML `file` that the traffic is read from",
		[]config.Group{r.fleet.group()})
	flags := cmd.Flags()
	flags.StringVar(&r.target.URL, "from-live", "", "measure the traffic of the server at this "+
		"`address`")
	flags.DurationVar(&r.listen, "measure", 10*time.Second, "how long it is measured")
	flags.StringVar(&r.target.Tenant, "tenant", string(andon.DefaultTenant),
		"`tenant` whose devices are measured")
	flags.StringVar(&r.target.TokenFile, "token-file", p.Variable("ANDON_TOKEN_FILE"),
		"`file` that holds the server's token")
	flags.StringVar(&r.prices, "prices", "", "YAML `file` of prices that go before the built-in "+
		"ones")
	onlyPrices := flags.Bool("print-prices", false, "print the built-in prices, and nothing else")
	flags.BoolVar(&r.sweep, "sweep", false, "100 to 100,000,000 devices, as a chart")
	flags.StringVar(&r.svg, "svg", "", "write the chart of --sweep into this `file`, too")
	flags.BoolVar(&r.guide, "guide", false, "the cost figures of the guide to time series, and "+
		"what they are")
	flags.BoolVar(&r.explain, "explain", false, "show the arithmetic, line by line")
	r.format = command.ReportFlag(cmd)
	cmd.RunE = p.Does(func(ctx context.Context, _ []string) error {
		if *onlyPrices {
			_, err := fmt.Fprint(p.Stdout, plan.PricesText())
			return err
		}
		return r.run(ctx)
	})
	return cmd
}

// report is what is printed as JSON.
type report struct {
	plan.Plan
	Live  *live       `json:"live,omitempty"`
	Sweep *plan.Sweep `json:"sweep,omitempty"`
	Guide *plan.Guide `json:"guide,omitempty"`
}

func (r *planner) run(ctx context.Context) error {
	origins, err := r.load()
	if err != nil {
		return err
	}
	var out report
	if r.target.URL != "" {
		if out.Live, err = r.measure(ctx, origins); err != nil {
			return err
		}
	}
	in, err := r.input()
	if err != nil {
		return err
	}
	if r.guide {
		guide, err := r.workOutGuide(in)
		if err != nil {
			return err
		}
		out.Guide = &guide
	}
	if r.sweep || r.svg != "" {
		sweep := plan.MakeSweep(in, 100, 100_000_000)
		out.Sweep = &sweep
	}
	out.Plan = plan.Make(in)
	if err := r.draw(&out); err != nil {
		return err
	}
	if r.format.Value == command.FormatJSON {
		return r.PrintJSON(out)
	}
	r.print(&out)
	return nil
}

// load reads the traffic. What is wrong is misuse: it is all of this command line.
func (r *planner) load() (origins []config.Origin, err error) {
	return config.Load(r.sources(), r.fleet.group())
}

// input gathers what the plan is made from.
func (r *planner) input() (in plan.Input, err error) {
	in.Traffic, in.Now = r.fleet.traffic, r.Now().Std()
	if in.Traffic.ReadingsEvery == 0 {
		in.Traffic.Questions[plan.AskReading] = 0 // there are none
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

// layouts asks the engines that are chosen what they make of the traffic.
func (r *planner) layouts(t *plan.Traffic) (layouts []plan.Layout, err error) {
	sample, err := t.Sample()
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "event_bytes %w", err)
	}
	planned := map[string]adapter.Planned{}
	var names []string
	for _, e := range all.New() {
		if p, ok := e.(adapter.Planned); ok {
			planned[e.Name()], names = p, append(names, e.Name())
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

// workOutGuide works out the guide's figures with the item of its own reading: three metrics.
func (r *planner) workOutGuide(in plan.Input) (plan.Guide, error) {
	t := in.Traffic
	t.ReadingsEvery, t.Metrics = t.Interval, 3
	wanted := r.fleet.stores
	r.fleet.stores = []string{"all"}
	defer func() { r.fleet.stores = wanted }()
	var err error
	if in.Layouts, err = r.layouts(&t); err != nil {
		return plan.Guide{}, err
	}
	return plan.MakeGuide(in)
}

// draw writes the picture of a sweep.
func (r *planner) draw(out *report) error {
	if r.svg == "" {
		return nil
	}
	picture := out.Sweep.SVG("Cost a month by the number of devices, " + out.Region)
	if picture == "" {
		return andon.Errorf(andon.Invalid, "there is nothing to draw: no store has a price in %s",
			out.Region)
	}
	return os.WriteFile(r.svg, []byte(picture), 0o644)
}
