package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

func (p *program) sweepCommand() *cobra.Command {
	t := p.newTarget()
	var dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Give back the space of what has expired, now",
		Long: `Give back the space of what has expired, in all tenants. The server does so by itself
every hour; this is for a disk that is full. Nothing goes that could still be read.`,
		Example: `  andon sweep --dry-run
  andon sweep`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().SortFlags = false
	t.serverFlags(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would go")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, an object a line")
	cmd.RunE = p.does(func(ctx context.Context, _ []string) error {
		return t.ask(ctx, func(c *client.Client) error {
			swept, err := c.Sweep(ctx, dryRun)
			if err != nil {
				return err
			}
			o := output{format: &choice{value: formatTable}, all: true, none: func() string {
				return "nothing has expired that is still there"
			}}
			if asJSON {
				o.format.value = formatJSON
			}
			return show(p, &o, []column[client.Swept]{
				textColumn("tenant", func(s *client.Swept) string { return string(s.Tenant) }),
				timeColumn("events_before", func(s *client.Swept) andon.Time { return s.Events }),
				timeColumn("readings_before", func(s *client.Swept) andon.Time {
					return s.Readings
				}),
			}, each(swept))
		})
	})
	return cmd
}
