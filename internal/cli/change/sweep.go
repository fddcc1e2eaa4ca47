package change

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// Sweep is "andon sweep".
func Sweep(p *command.Program) *cobra.Command {
	t := p.NewTarget()
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Give back the space of what has expired, now",
		Long: `Give back the space of what has expired, in all tenants. The server does so by itself
every hour; this is for a disk that is full. Nothing goes that could still be read.

DynamoDB deletes what has expired by itself, within days; this deletes it now, at most
dynamodb.sweep_rate items a second. It is paid for like other writes. What was broken off
goes on next time.`,
		Example: `  andon sweep --dry-run
  andon sweep`,
		Args: cobra.NoArgs,
	}
	t.ServerFlags(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would go")
	form := command.ReportFlag(cmd, command.FormatCSV)
	cmd.RunE = p.Does(func(ctx context.Context, _ []string) error {
		return t.Ask(ctx, func(c *client.Client) error {
			all, err := c.Sweep(ctx, dryRun)
			if err != nil {
				return err
			}
			o := command.Output{Format: form, All: true, None: func() string {
				return "nothing has expired that is still there"
			}}
			columns := command.Fields[client.Swept]("tenant", "events_before", "readings_before",
				"deleted")
			return command.Show(p, &o, columns, command.Each(all))
		})
	})
	return cmd
}
