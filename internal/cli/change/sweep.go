package change

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// Sweep is "andon sweep".
func Sweep(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Free the space of what has expired, now",
		Long: `Free the space of what has expired, in all tenants. The server does so every hour;
this is for a full disk. It deletes nothing that can still be read.

DynamoDB deletes what has expired within days; this deletes it now, at most dynamodb.sweep_rate
items a second, at the price of other writes. If it is interrupted, the next one continues.`,
		Example: `  andon sweep --dry-run
  andon sweep`,
	}
	t := p.NewServer(cmd)
	dryRun := cmd.Flags().Bool("dry-run", false, "only print what would be deleted")
	form := command.ReportFlag(cmd, command.FormatCSV)
	return t.Asks(func(ctx context.Context, c *client.Client, _ []string) error {
		all, err := c.Sweep(ctx, *dryRun)
		if err != nil {
			return err
		}
		o := command.Output{Format: form, All: true, None: func() string {
			return "nothing has expired"
		}}
		columns := command.Fields[client.Swept]("tenant", "events_before", "readings_before",
			"deleted")
		return command.Show(p, &o, columns, command.Each(all))
	})
}
