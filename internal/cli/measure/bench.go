// Package measure is the command "bench": it opens what package bench measures, and prints the
// result.
package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/store/adapter"
)

// benchmark is what the flags of the command ask for, and the result.
type benchmark struct {
	*command.Program
	command.Target          // a running server, where URL is not empty
	words          []string // of parts; none: all
	keep           string
	tenant         andon.TenantID // of the run; it does not exist
	options        bench.Options
	config         app.Config // the settings of the store
	report         report
}

// Command is "andon bench".
func Command(p *command.Program) *cobra.Command {
	b := &benchmark{Program: p}
	cmd := &cobra.Command{
		Use:   "bench [ingest|query|states]...",
		Short: "Measure a store or a server on this machine",
		Long: `Measure how fast a store takes events, in this process and without HTTP. A fleet
reports, which fills the store. Then it reports on (ingest): one event an operation with many
writers, and batches of few devices and of many by 4 writers. The store finds out who is
responsible for each event, and keeps it; all events name their operator, as most senders do.

Where the bare engine can take the same events without Andon, it does so in turn with the store,
5 times. OF CEILING is the median of what the store reached of the engine's rate in the same turn,
and means the same on every machine; the other figures are of this machine at this time. OPS/S is
the median, too; P50, P99 and P99.9 are of all operations. BYTES/EVENT is what the store grew by.

With --url a running server is measured over its API instead, in a tenant of its own: it is filled,
answers what people ask of a device or a person (query), lists and counts devices by state (states),
each by 1 client and by 16, and takes single events and batches (ingest). The ceiling is Pebble
alone in this process, without HTTP and JSON, on the disk of the temporary files. CPU is the
server's, for an event or a query. The server should be idle otherwise.

Without words all of these are measured after the filling. query and states need --url.

All is made in the directory for temporary files, which TMPDIR names, and removed at the end, also
after Ctrl-C: let that be on the disk that the store will be on.

A shared store is the one that the settings name, and is measured in a tenant of its own, which is
deleted at the end. It has to be empty, and should be idle: make one with andon store init. Settings
are read as "andon serve" reads them; --data does not count.`,
		Example: `  andon bench
  andon bench ingest --store memory --devices 10000 --duration 1s
  andon bench --store cassandra --cassandra-hosts 10.0.0.1 --cassandra-keyspace bench
  TMPDIR=/var/lib/andon andon bench --output json > bench.json
  andon bench --url http://127.0.0.1:8080 --devices 100000
  andon bench query states --url http://127.0.0.1:8080 --output json`,
		ValidArgs: parts,
	}
	form := b.flags(cmd)
	cmd.AddCommand(incidentsCommand(p))
	return local.Runs(p, cmd, func(ctx context.Context, c app.Config) error {
		b.config, b.words = c, cmd.Flags().Args()
		return b.run(ctx, form.Value)
	})
}

func (b *benchmark) flags(cmd *cobra.Command) (form *command.Choice) {
	flags, o := cmd.Flags(), &b.options
	flags.IntVar(&o.Devices, "devices", 1_000_000, "how `many` devices the fleet has")
	flags.IntVar(&o.Events, "events", 0, "how `many` events the fleet reports at first "+
		"(default two of each device)")
	flags.DurationVar(&o.Duration, "duration", 2*time.Second, "how long each load is measured")
	flags.IntVar(&o.Writers, "writers", 64, "how `many` writers of single events there are")
	flags.IntVar(&o.Batch, "batch", 1000, "how `many` events a batch has")
	flags.BoolVar(&o.Mixed, "mixed", false,
		"a fleet with busy devices, and late and repeated events")
	flags.Uint64Var(&o.Seed, "seed", 1, "another `number` makes another fleet")
	flags.StringVar(&b.keep, "keep", "", "keep the store in this `directory`; with --url "+
		"the tenant of the server")
	flags.StringVar(&b.URL, "url", "", "`address` of a running server to measure instead")
	return command.ReportFlag(cmd)
}

// parts are what can be measured after the filling.
var parts = []string{"ingest", bench.Query, bench.States}

// run measures the target and prints what was measured, also where an error ended it.
func (b *benchmark) run(ctx context.Context, form string) error {
	if err := b.complete(); err != nil {
		return err
	}
	ctx, stop := command.UntilHangup(ctx)
	defer stop()
	keep := b.keep
	if b.URL != "" { // it keeps the tenant alone
		keep = ""
	}
	dir, remove, err := local.WorkDirectory(keep, "andon-bench-")
	if err != nil {
		return err
	}
	defer remove()
	on := dir
	if b.keep == "" {
		on = filepath.Dir(dir) // the temporary one says nothing
	}
	o := &b.options
	b.report = report{
		Version: b.Version, Machine: describe(b.Program, on), Devices: o.Devices,
		Events: o.Events / o.Devices * o.Devices, Seed: o.Seed, Duration: o.Duration,
	}
	if b.URL != "" {
		err = b.measureServer(ctx, dir)
	} else {
		err = b.measureStore(ctx, dir)
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted: " + b.left())
	}
	if len(b.report.Rows) == 0 {
		return err
	}
	err = errors.Join(err, b.report.print(b.Program, form))
	if b.keep != "" {
		fmt.Fprintln(b.Stderr, "Kept:", b.left())
	}
	return err
}

// left says what remains after the run.
func (b *benchmark) left() string {
	switch {
	case b.keep == "":
		return "nothing is left"
	case b.URL != "":
		return fmt.Sprintf("tenant %s of the server", b.tenant)
	}
	return "the store in " + filepath.Join(b.keep, b.config.Store)
}

// complete fills in defaults, and refuses what can't be measured.
func (b *benchmark) complete() error {
	o := &b.options
	o.Events, o.Now = cmp.Or(o.Events, 2*o.Devices), time.Now
	b.tenant = andon.TenantID("andon-check-bench-" + b.Now().Std().Format("20060102T150405.000000"))
	if _, err := bench.New(*o); err != nil {
		return andon.Errorf(andon.Invalid, "--%s", err)
	}
	for _, word := range b.words {
		switch {
		case word == parts[0]:
			o.Kinds = append(o.Kinds, bench.Single, bench.Batch)
		case b.URL != "" && slices.Contains(parts, word):
			o.Kinds = append(o.Kinds, word)
		default:
			return andon.Errorf(andon.Invalid, "there is no %s to measure here: there is %s, and "+
				"with --url %s", command.Quoted(word), parts[0], strings.Join(parts[1:], " and "))
		}
	}
	e, err := b.config.Engine()
	if err == nil && b.URL == "" {
		err = e.Check()
	}
	return err
}

// measureStore measures the store of the settings. What was measured before an error is in the
// report.
func (b *benchmark) measureStore(ctx context.Context, dir string) (err error) {
	name, a := b.config.Store, b.app(b.config.Store, dir)
	store, err := a.OpenStore(ctx, "andon bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if b.config.Place() == adapter.Elsewhere {
		if err := mustBeEmpty(ctx, store); err != nil {
			return err
		}
	}
	target, end, err := bench.Store(ctx, name, store, b.tenant, b.keep != "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	b.report.Engine = store.Capabilities().Name
	return b.measure(ctx, target, a)
}

// mustBeEmpty refuses a shared store that has devices: measuring would slow down the users
// of these devices, and the devices would distort the figures.
func mustBeEmpty(ctx context.Context, store andon.Store) error {
	tenants, err := store.Tenants(ctx)
	for i := 0; i < len(tenants) && err == nil; i++ {
		var counts []andon.StateCount
		counts, err = store.Counts(ctx, tenants[i].ID, 0)
		if len(counts) > 0 && err == nil {
			err = andon.Errorf(andon.Conflict, "the store is in use: tenant %s has devices; "+
				"name an empty one, such as andon store init makes", tenants[i].ID)
		}
	}
	return err
}

// measureServer measures a running server, next to Pebble in this process.
func (b *benchmark) measureServer(ctx context.Context, dir string) error {
	b.TokenFile = b.config.TokenFile
	token, err := command.ReadTokenFile(b.TokenFile)
	if err != nil {
		return err
	}
	b.Tenant, b.Attempts = string(b.tenant), command.AttemptsWaiting
	return b.Ask(ctx, func(c *client.Client) (err error) {
		version, err := c.Version(ctx)
		if err == nil {
			_, err = c.PutTenant(ctx, b.tenant, client.TenantChange{})
		}
		if err != nil {
			return err
		}
		if b.keep == "" {
			defer func() {
				err = errors.Join(err, c.DeleteTenant(context.WithoutCancel(ctx), b.tenant))
			}()
		}
		b.report.Engine = version.Store
		b.options.Escalate, b.options.Pause = true, 2*time.Second
		target := bench.Server("server", b.URL, token, b.tenant)
		return b.measure(ctx, target, b.app(b.config.Engines[0].Name(), dir))
	})
}

// app is an application whose store is in a directory of its name, or is the shared one of the
// settings.
func (b *benchmark) app(store, dir string) *app.App {
	c := b.config
	c.Store, c.Data = store, filepath.Join(dir, store)
	return local.NewQuietApp(b.Program, c)
}

// measure measures a target next to its ceiling: the engine of an application alone.
func (b *benchmark) measure(ctx context.Context, t bench.Target, a *app.App) (err error) {
	const ceiling = "ceiling"
	b.report.Subject = t.Name
	targets := []bench.Target{t}
	e, env, err := a.Closed("")
	if err != nil {
		return err
	}
	write, end, err := e.Ceiling(env)
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, end()) }()
		targets = append(targets, bench.Direct(ceiling, write))
	case andon.KindOf(err) != andon.Unsupported:
		return fmt.Errorf("open the ceiling: %w", err)
	}
	defer b.showSteps(t.Name)()
	run, err := bench.New(b.options, targets...)
	if err != nil {
		return err
	}
	rows, err := run.Measure(ctx, slices.Concat(run.Filling(), run.Asking(), run.Writes()))
	b.report.Rows = bench.Compare(rows, t.Name, ceiling)
	return err
}

// showSteps shows the progress of measuring a target, until end is called.
func (b *benchmark) showSteps(name string) (end func()) {
	const parts = 1000 // of the whole bar
	var present atomic.Pointer[bench.Step]
	present.Store(&bench.Step{})
	bar := draw.NewBar(b.Stderr, name, parts, func(int64, int64) string {
		return " " + present.Load().Load
	})
	b.options.Report = func(s bench.Step) {
		present.Store(&s)
		bar.Show(int64(parts*(float64(s.Number-1)+s.Done)/float64(s.Loads)), parts)
	}
	return bar.End
}
