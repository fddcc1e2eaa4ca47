package query

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

func queryNames(p *command.Program) (all []*cobra.Command) {
	for _, s := range []struct {
		spec
		list func(*client.Client, context.Context) iter.Seq2[client.Name, error]
	}{
		{spec{
			use: "operators", short: "All operators, and how many devices each has now",
			example: `  andon query operators
  andon query operators --all --output csv`,
		}, (*client.Client).Operators},
		{spec{
			use:   "supervisors",
			short: "All supervisors, and how many devices are escalated to each now",
			example: `  andon query supervisors
  andon query supervisors --all --output csv`,
		}, (*client.Client).Supervisors},
		{spec{
			use: "metrics", short: "All metrics, and how many devices sent each",
			example: `  andon query metrics
  andon query metrics --all --output csv`,
		}, (*client.Client).Metrics},
	} {
		s.long = s.short + `, by name. A number is
absent if the store can't count. Names without any device may be listed, with 0.`
		q, cmd := newList(p, s.spec)
		all = append(all, q.runs(cmd,
			func(ctx context.Context, c *client.Client, _ []string) error {
				return show(q, command.Fields[client.Name]("name", "devices"), s.list(c, ctx))
			}))
	}
	return all
}
