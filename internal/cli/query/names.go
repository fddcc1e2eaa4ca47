package query

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

func queryNames(p *command.Program) (all []*cobra.Command) {
	for _, n := range []struct {
		name, short string
		list        func(*client.Client, context.Context) iter.Seq2[client.Name, error]
	}{
		{"operators", "All operators, and how many devices each has now",
			(*client.Client).Operators},
		{"supervisors", "All supervisors, and how many devices are escalated to each now",
			(*client.Client).Supervisors},
		{"metrics", "All metrics, and how many devices sent each", (*client.Client).Metrics},
	} {
		q, cmd := newList(p, &cobra.Command{
			Use: n.name, Short: n.short,
			Long: n.short + `, by name. A number is
absent if the store can't count. Names without any device may be listed, with 0.`,
			Example: "  andon query " + n.name +
				"\n  andon query " + n.name + " --all --output csv",
		})
		all = append(all, q.runs(cmd,
			func(ctx context.Context, c *client.Client, _ []string) error {
				return show(q, command.Fields[client.Name]("name", "devices"), n.list(c, ctx))
			}))
	}
	return all
}
