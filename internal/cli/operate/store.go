package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/all"
	"github.com/andonhq/andon/internal/store/wrap"
)

// Store is "andon store".
func Store(p *command.Program) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "store",
		Short: "Create the schema of a store, rebuild, repair or describe it",
		Long: `Create the schema of the configured store, rebuild its index rows, repair damage, or
print what it holds. Settings are read as "andon serve" reads them. An embedded store has no
schema.`,
		Example: `  andon store init --store cassandra --cassandra-hosts 10.0.0.1 --replication 3
  andon store rebuild latest --config andon.yaml --to state
  andon store status --config andon.yaml`,
	}, storeInitCommand(p), storeTemplateCommand(p), storeRebuildCommand(p),
		storeShardsCommand(p), storeStatusCommand(p), storeRepairCommand(p))
}

func storeInitCommand(p *command.Program) *cobra.Command {
	var setup adapter.Setup
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create the schema of the store, or the missing parts of it",
		Long: `Create the schema of the configured store, or the missing parts of it, and print each
statement. It may be repeated: existing parts are not changed, but for the retentions of a
keyspace, which --retention and --readings-retention set at once. A store without a schema needs
nothing; that is no error.

With --dry-run it only prints the statements: to read them first, also before there is a cluster, or
to give them to somebody who has the permission. Those for Cassandra are CQL, those for DynamoDB are
commands of the AWS CLI:
  andon store init --config andon.yaml --dry-run | cqlsh
  andon store init --store dynamodb --dry-run | sh

--replication is how many nodes store each entry: one number, or one for each data centre. A new
keyspace needs it, unless the cluster has one node.`,
		Example: `  andon store init --store cassandra --cassandra-hosts 10.0.0.1 --replication 3
  andon store init --config andon.yaml --replication dc1:3,dc2:3 --retention 365d
  andon store init --config andon.yaml --dry-run`,
	}
	setupFlags(cmd, &setup)
	return local.Runs(p, cmd, func(ctx context.Context, c app.Config) error {
		return initStore(ctx, p, c, setup)
	})
}

func setupFlags(cmd *cobra.Command, s *adapter.Setup) {
	flags := cmd.Flags()
	flags.StringVar(&s.Replication, "replication", "",
		"`copies` of each entry: 3, or dc1:3,dc2:3 (default: what the settings say)")
	command.OptionalFlag(cmd, &s.Retention, "retention",
		"longest `retention` of events, for any tenant: 365d, or forever (default forever)")
	command.OptionalFlag(cmd, &s.ReadingsRetention, "readings-retention",
		"longest `retention` of readings, for any tenant (default 30d)")
	flags.BoolVar(&s.DryRun, "dry-run", false, "only print the statements")
	flags.BoolVar(&s.RemoveIndexes, "remove-indexes", false,
		"delete optional indexes that the settings do not have")
}

func initStore(ctx context.Context, p *command.Program, c app.Config, setup adapter.Setup) error {
	e, env, err := local.NewQuietApp(p, c).Closed("")
	if err != nil {
		return err
	}
	statements := 0
	err = e.Init(ctx, env, setup, func(statement string) {
		statements++
		fmt.Fprintf(p, "%s;\n", statement)
	})
	note := io.Writer(p)
	if setup.DryRun { // standard output has only statements
		note = p.Stderr
	}
	switch {
	case andon.KindOf(err) == andon.Unsupported:
		fmt.Fprintf(note, "The store %s has no schema: nothing to do.\n", c.Store)
		return nil
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted: run it again for the rest")
	case err != nil || setup.DryRun:
		return err
	}
	fmt.Fprintf(note, "\nThe schema of the store %s is complete: %s run.\n", c.Store,
		draw.Count(statements, "statement"))
	return nil
}

func storeStatusCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print what the store holds, and how it is set up",
		Long: `Print facts about the configured store: its engine, what it can serve, its tenants,
its setup. Each line has its source. Nothing is changed. It opens an embedded store, so stop its
server first.`,
		Example: `  andon store status --data /var/lib/andon
  andon store status --config andon.yaml --output json`,
	}
	form := command.ReportFlag(cmd)
	return local.Runs(p, cmd, func(ctx context.Context, c app.Config) error {
		return storeStatus(ctx, p, c, form.Value)
	})
}

func storeStatus(ctx context.Context, p *command.Program, c app.Config, form string) error {
	if c.Place() == adapter.Directory && local.IsEmpty(c.Data) { // must not create one
		return fmt.Errorf("there is no store in %s: andon serve creates it, --data names another",
			c.Data)
	}
	store, err := local.NewQuietApp(p, c).OpenStore(ctx, "andon store status")
	if err != nil {
		return command.UnlessInterrupted(ctx, err)
	}
	facts, err := wrap.Facts(ctx, store)
	err = errors.Join(err, printFacts(p, facts, form), store.Close())
	return command.UnlessInterrupted(ctx, err)
}

func printFacts(p *command.Program, facts []wrap.Fact, form string) error {
	if form == command.FormatJSON {
		return p.PrintJSON(facts)
	}
	rows := [][]draw.Cell{draw.Texts("FACT", "VALUE", "SOURCE")}
	for _, f := range facts {
		rows = append(rows, draw.Texts(f.Name, draw.Legible(f.Value), draw.Legible(f.Source)))
	}
	out := p.Printer()
	out.Fitted(rows)
	for _, f := range facts {
		if f.Advice != "" {
			out.Line("\n%s: %s", f.Name, f.Advice)
		}
	}
	return nil
}

func storeRepairCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Report damage of the write-ahead log, and cut it off",
		Long: `Look for damage in the write-ahead logs of the embedded store. What comes after such
a place was acknowledged and can't be replayed, so the server does not start. It is better to
restore the directory from a backup. Without --give-up it changes nothing and prints what would be
lost.

With --give-up the logs end where the damage begins, and the server starts again. The damaged logs
are kept in the store's directory, as andon.damaged-NUMBER. Senders that still have what they sent
since then can send it again.

Stop the server first.`,
		Example: `  andon store repair --data /var/lib/andon
  andon store repair --data /var/lib/andon --give-up`,
	}
	giveUp := cmd.Flags().Bool("give-up", false, "end the logs where the damage begins")
	return local.Runs(p, cmd, func(_ context.Context, c app.Config) error {
		e, env, err := local.NewQuietApp(p, c).Closed("andon store repair")
		if err != nil {
			return err
		}
		return e.Repair(env, *giveUp, func(line string) {
			fmt.Fprintln(p, line)
		})
	})
}

func storeTemplateCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "template",
		Short: "Print the schema as a template for an infrastructure tool",
		Long: `Print the tables of the configured store, with indexes, expiry, capacity, recovery
and streams, as a template for an infrastructure tool. The template creates what andon store init
creates, and in addition alarms on each table and index, and the policy of IAM that a process needs.
CloudFormation wants --capabilities CAPABILITY_IAM for it. The format workbench is a model for NoSQL
Workbench: the tables and their indexes, each with a facet, and no items. The store is not
contacted. Only DynamoDB has templates.`,
		Example: `  andon store template --store dynamodb --format cloudformation > andon.yaml
  andon store template --store dynamodb --format terraform --capacity provisioned > andon.tf`,
	}
	formats, capacities := templateWords()
	format := command.ChoiceFlag(cmd, "format", "", "the tool", formats...)
	capacity := command.ChoiceFlag(cmd, "capacity", "",
		"how the tables are paid for (default: as in the settings)", capacities...)
	return local.Runs(p, cmd, func(_ context.Context, c app.Config) error {
		return storeTemplate(p, c, format.Value, capacity.Value)
	})
}

func templateWords() (formats, capacities []string) {
	for _, e := range all.New() {
		formats = append(formats, e.Formats()...)
		capacities = append(capacities, e.Capacities()...)
	}
	return formats, capacities
}

func storeTemplate(p *command.Program, c app.Config, format, capacity string) error {
	e, err := c.Engine()
	if err != nil {
		return err
	}
	if len(e.Formats()) == 0 {
		return andon.Errorf(andon.Invalid, "the store %s has no templates", e.Name())
	}
	if format == "" {
		return andon.Errorf(andon.Invalid, "--format is missing: %s",
			strings.Join(e.Formats(), " or "))
	}
	text, err := e.Template(format, capacity)
	if err == nil {
		fmt.Fprint(p, text)
	}
	return err
}
