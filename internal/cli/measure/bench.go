// Package measure is the command "bench": it opens the stores that package bench measures, and
// prints what came of it.
package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/store/all"
)

// benchmark is what the flags of the command ask for, and what came of it.
type benchmark struct {
	*command.Program
	stores  []string
	target  command.Target // a running server, where URL is not empty
	peers   bool
	events  int // 0: two of each device
	keep    string
	format  *command.Choice
	options bench.Options
	report  benchReport

	load   func() (app.Config, error)
	config app.Config // what the settings say of the stores
}

// Command is "andon bench".
func Command(p *command.Program) *cobra.Command {
	b := &benchmark{Program: p}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what a store does on this machine, beside what its engine can do",
		Long: `Measure a store on this machine, in this process and without HTTP. A fleet reports,
which fills the store. Then it is asked what people ask, one question at a time: the devices in a
state, with 100, 10,000 and 100,000 answers (or a quarter of the fleet, where it is smaller), what
a device shows, counts, a device's last entries, an operator's hour. Then the fleet reports on: one
event an operation with many writers at once, by 4 writers batches of few devices and of many, and
at last single events by 8 writers beside an import, which writes batches by 4 as fast as it can.
Writing is what the server does with events that it has admitted: the store finds out who answers
for each, and keeps them. All events name their operator, as most senders do.

Where the bare engine can take the same events without Andon around it, that is done in turn with
the store: to fill it once, then 5 times each. OF CEILING is the median of what the store reached of
it, and means the same on every machine; the other figures hold for this machine at this time only.
OPS/S is the median, too; P50 and P99 are of all operations. BYTES/EVENT is what the store grew by.

The memory store computes every answer when it is asked; with many devices that takes long.

All is made in the directory for temporary files, which TMPDIR names, and removed at the end, also
at Ctrl-C: let that be on the disk that the store shall be on.

With --url a running server is measured over its API instead, in a throwaway tenant: it is filled,
asked seven questions by 1 and by 16 clients, and takes single events, batches, and events that
change their devices' states (states): as fast as it can, then at 70 % of that, one by one and in
waves (storm), where P50, P99 and P99.9 count from when a request was due; lists of devices beside
batches at half of what it takes (list); then batches for ten times as long, or --soak events, as
fast as it can, with 200 single events a second beside them (soak: the first and the last tenth);
then readings. With --peers the same is done with servers that this program starts: one that only
reads what is sent, one that keeps each event under one key in Pebble, and one that keeps a key for
every question; and with Pebble in this process, one key an event, without HTTP and JSON. They take
turns, 5 of them with a fifth of --duration each; list and soak come to one server after the other.
OF CEILING is beside the second for writing, and beside the third for questions; OF RAW is beside
the last: the median of what the server reached of it in the same turn. CPU is the server's, for an
event or a question.

--loads measures only some loads, after the filling of the fleet: to repeat one of them, with
fewer --devices, takes seconds.

A shared store is the one that the settings name, and is measured in a throwaway tenant, which is
deleted at the end. It has to be empty, and should be idle: make one beside the one in use with
andon store init.`,
		Example: `  andon bench
  andon bench --store pebble,memory --devices 10000 --duration 1s
  andon bench --store cassandra --cassandra-hosts 10.0.0.1 --cassandra-keyspace bench
  TMPDIR=/var/lib/andon andon bench --output json > bench.json
  andon bench --url http://127.0.0.1:8080 --peers --devices 100000
  andon bench --url http://127.0.0.1:8080 --loads single,states --devices 10000
  andon bench --url http://127.0.0.1:8080 --loads soak --soak 100000000`,
	}
	b.flags(cmd)
	b.load = local.StoreFlags(p, cmd)
	cmd.RunE = p.Does(func(ctx context.Context, _ []string) error { return b.run(ctx) })
	cmd.AddCommand(peerCommand(p))
	return cmd
}

func (b *benchmark) flags(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &b.options
	engines := all.New()
	flags.StringSliceVar(&b.stores, "store", engines.Names()[:1],
		"`stores` to measure, one after the other: "+engines.About())
	flags.IntVar(&o.Devices, "devices", 1_000_000, "how `many` devices the fleet has")
	flags.IntVar(&b.events, "events", 0, "how `many` events there are at first, in whole "+
		"rounds of the fleet (default two of each device)")
	flags.DurationVar(&o.Duration, "duration", 2*time.Second, "how long each load is measured")
	flags.IntVar(&o.Writers, "writers", 64, "how `many` events are written one by one at once")
	flags.IntVar(&o.Batch, "batch", 1000, "how `many` events a batch has")
	flags.StringSliceVar(&o.Loads, "loads", nil, "only these `loads` after the filling: "+
		strings.Join(bench.StoreLoads()[1:], ", ")+"; with --url "+
		strings.Join(bench.ServerLoads()[1:], ", "))
	flags.IntVar(&o.Soak, "soak", 0, "with --url: how `many` events the soak brings "+
		"(default as many as fit into ten times --duration)")
	flags.DurationVar(&o.Rest, "rest", 20*time.Second, "with --url: wait `so long` at most "+
		"before a load until the servers have done what earlier ones have left; 0: not at all")
	flags.Uint64Var(&o.Seed, "seed", 1, "another `number` makes another fleet")
	b.format = command.ReportFlag(cmd, command.FormatCSV)
	flags.StringVar(&b.keep, "keep", "", "keep the stores in this `directory`; with --url "+
		"those of the peers, and the tenant of the server")
	flags.StringVar(&b.target.URL, "url", "", "`address` of a running server to measure instead")
	flags.StringVar(&b.target.TokenFile, "token-file", b.Variable("ANDON_TOKEN_FILE"),
		"`file` that holds the server's token")
	flags.BoolVar(&b.peers, "peers", false, "with --url: measure the least servers beside it")
}

// run measures each store and prints what was measured, also where it was broken off.
func (b *benchmark) run(ctx context.Context) error {
	if err := b.complete(); err != nil {
		return err
	}
	ctx, stop := command.UntilHangup(ctx)
	defer stop()
	dir, remove, err := local.WorkDirectory(b.keep, "andon-bench-")
	if err != nil {
		return err
	}
	defer remove()
	b.report.Version, b.report.Machine = b.Version, b.describeMachine(dir)
	b.warn()
	if b.target.URL != "" {
		err = b.measureServer(ctx, dir)
	} else {
		err = b.measureAll(ctx, dir)
	}
	if len(b.report.Rows) == 0 {
		return err
	}
	err = errors.Join(err, b.report.print(b.Program, b.format.Value))
	if b.keep != "" {
		fmt.Fprintf(b.Stderr, "Kept: %s\n", b.keep)
	}
	return err
}

// complete fills in what was not asked for, and refuses what can't be.
func (b *benchmark) complete() error {
	o := &b.options
	b.events = cmp.Or(b.events, 2*o.Devices)
	o.Events, o.Now, o.Keep = b.events, time.Now, b.keep != ""
	if err := asFlag(o.Check()); err != nil {
		return err
	}
	o.Tenant = andon.TenantID("andon-check-bench-" + b.Now().Std().Format("20060102T150405.000000"))
	b.report.Devices, b.report.Events = o.Devices, o.Events/o.Devices*o.Devices
	b.report.Seed, b.report.Duration = o.Seed, o.Duration
	if b.target.URL != "" {
		return asFlag(o.CheckLoads(bench.ServerLoads()))
	}
	if b.peers {
		return andon.Errorf(andon.Invalid, "--peers are measured beside a server: name it by --url")
	}
	if o.Soak > 0 {
		return andon.Errorf(andon.Invalid, "--soak is a load of a server: name it by --url")
	}
	if err := asFlag(o.CheckLoads(bench.StoreLoads())); err != nil {
		return err
	}
	return b.checkStores()
}

// asFlag puts the name of a flag, with which the error begins, as people write it.
func asFlag(err error) error {
	if err != nil {
		err = andon.Errorf(andon.Invalid, "--%s", err)
	}
	return err
}

func (b *benchmark) measureAll(ctx context.Context, dir string) error {
	for i, name := range b.stores {
		end := b.showSteps(name, i)
		err := b.measure(ctx, name, dir)
		end()
		switch {
		case ctx.Err() != nil:
			return errors.New("interrupted: " + b.left())
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// showSteps shows how far the measuring of the store at a place is, until end is called.
func (b *benchmark) showSteps(store string, place int) (end func()) {
	if len(b.stores) > 1 {
		store = fmt.Sprintf("%s (%d of %d)", store, place+1, len(b.stores))
	}
	const parts = 1000 // of the whole bar
	var present atomic.Pointer[bench.Step]
	present.Store(&bench.Step{})
	bar := draw.NewBar(b.Stderr, store, parts, func(int64, int64) string {
		return " " + present.Load().Load
	})
	b.options.Told = func(s bench.Step) {
		present.Store(&s)
		bar.Show(int64(parts*(float64(s.Number-1)+s.Done)/float64(s.Of)), parts)
	}
	return bar.End
}

// left says what is left behind.
func (b *benchmark) left() string {
	if b.keep != "" {
		return "the stores are kept in " + b.keep
	}
	return "nothing is left behind"
}

// measure measures one store. What it has measured is in the report, whatever comes of it.
func (b *benchmark) measure(ctx context.Context, name, dir string) (err error) {
	store, err := b.open(ctx, name, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	rows, err := bench.Measure(ctx, bench.Subject{
		Name: name, Store: store, Ceiling: b.ceiling(name, dir),
	}, b.options)
	b.report.Rows = append(b.report.Rows, rows...)
	b.report.Engines = append(b.report.Engines, benchEngine{name, store.Capabilities().Name})
	return err
}
