package incidents

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// Report is "andon report".
func Report(p *command.Program) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:     "report",
		Short:   "Report figures of a span",
		Example: "  andon report incidents --from 7d --per operator",
	}, reportIncidents(p))
}

func reportIncidents(p *command.Program) *cobra.Command {
	var q client.ReportQuery
	cmd := &cobra.Command{
		Use:   "incidents",
		Short: "Count incidents; as JSON all figures of ISA-18.2",
		Long: `Count incidents by operator, device or hour: those that began in the span, by the
times of their entries. A list of a span goes by the arrival of what opened them. As JSON the report
has all figures of ISA-18.2: floods, chattering, stale, the worst devices, times to acknowledge and
to return, availability, MTBF and MTTR. The span is the last day unless it is set. Of one person
there are no availability and no MTBF.`,
		Example: `  andon report incidents --from 7d --per operator --group plant-1
  andon report incidents --from yesterday --to yesterday --output json`,
	}
	t := p.NewTarget(cmd)
	p.SpanFlags(cmd, &q.From, &q.To)
	cmd.Flags().StringVar((*string)(&q.Group), "group", "", "only this `group` and below it")
	cmd.Flags().StringVar((*string)(&q.Operator), "operator", "",
		"only incidents of this `operator`; none: of nobody")
	per := command.ChoiceFlag(cmd, "per", "device", "what the lines are of",
		"operator", "device", "hour")
	o := p.NewOutput(cmd)
	return t.Asks(func(ctx context.Context, c *client.Client, _ []string) error {
		q.Per = per.Value
		r, err := c.IncidentReport(ctx, q)
		if err != nil {
			return err
		}
		if o.Format.Value == command.FormatJSON {
			return p.PrintJSON(r)
		}
		columns := command.Fields[client.IncidentRow]("name", "incidents", "per_hour", "seconds")
		columns[0].Name = q.Per
		return command.Show(p, o, columns, command.Each(r.Rows))
	})
}
