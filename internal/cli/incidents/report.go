package incidents

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// Report is "andon report".
func Report(p *command.Program) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:     "report",
		Short:   "Report figures of a span",
		Example: "  andon report incidents --from 7d --per operator",
	})
	cmd.AddCommand(reportIncidents(p))
	return cmd
}

func reportIncidents(p *command.Program) *cobra.Command {
	t, o := p.NewTarget(), command.Output{All: true}
	var of client.Selection
	var from, to andon.Time
	cmd := &cobra.Command{
		Use:   "incidents",
		Short: "Count incidents; as JSON all figures of ISA-18.2",
		Long: `Count incidents by operator, device or hour. As JSON the report has all figures of
ISA-18.2: floods, chattering, stale, the worst devices, times to acknowledge and to return,
availability, MTBF and MTTR. The span is the last day unless it is set.`,
		Example: `  andon report incidents --from 7d --per operator --group plant-1
  andon report incidents --from yesterday --to yesterday --output json`,
		Args: cobra.NoArgs,
	}
	t.Flags(cmd)
	p.SpanFlags(cmd, &from, &to)
	cmd.Flags().StringVar((*string)(&of.Group), "group", "", "only this `group` and below it")
	per := command.ChoiceFlag(cmd, "per", "device", "what the lines are of",
		"operator", "device", "hour")
	o.FormatFlag(p, cmd)
	t.Asks(p, cmd, func(ctx context.Context, c *client.Client, _ []string) error {
		r, err := c.IncidentReport(ctx, of, from, to, per.Value)
		if err != nil {
			return err
		}
		if o.Format.Value == command.FormatJSON {
			return p.PrintJSON(r)
		}
		columns := command.Fields[client.IncidentRow]("name", "incidents", "per_hour", "seconds")
		return command.Show(p, &o, columns, command.Each(r.Rows))
	})
	return cmd
}
