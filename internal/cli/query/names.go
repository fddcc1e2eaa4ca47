package query

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// queryNames makes the subcommands that list the names that occur.
func queryNames(p *command.Program) (all []*cobra.Command) {
	for _, ask := range []struct {
		question
		list func(*client.Client, context.Context) iter.Seq2[client.Name, error]
	}{
		{question{
			use: "operators", short: "The operators that occur, and how many devices each has now",
			example: `  andon query operators
  andon query operators --all --output csv`,
		}, (*client.Client).Operators},
		{question{
			use:   "supervisors",
			short: "The supervisors that occur, and how many devices are escalated to each now",
			example: `  andon query supervisors
  andon query supervisors --all --output csv`,
		}, (*client.Client).Supervisors},
		{question{
			use: "metrics", short: "The metrics that occur, and how many devices sent each",
			example: `  andon query metrics
  andon query metrics --all --output csv`,
		}, (*client.Client).Metrics},
	} {
		ask.long = ask.short + `, by name. A number is absent where
the store can't say it. Names that have nothing any more may be listed, with 0.`
		q, cmd := newList(p, ask.question)
		all = append(all, q.asks(cmd,
			func(ctx context.Context, c *client.Client, _ []string) error {
				return show(q, command.Fields[client.Name]("name", "devices"), ask.list(c, ctx))
			}))
	}
	return all
}
