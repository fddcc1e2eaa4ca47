// Package sources has the commands about other systems that send to Andon: "rejections" and "map".
package sources

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// Rejections is "andon rejections".
func Rejections(p *command.Program) *cobra.Command {
	var q client.Query
	cmd := &cobra.Command{
		Use:   "rejections",
		Short: "List what other systems sent that could not be kept",
		Long: `List what Kafka, Kinesis and other sources sent that could not be kept, newest first:
where it is, why it was refused, and how its message begins. About as many are kept as the setting
rejections.keep of the server says.`,
		Example: `  andon rejections --from 1h
  andon rejections --source line-3 --all --output csv`,
	}
	t := p.NewServer(cmd)
	source := cmd.Flags().String("source", "", "only those of a source, by its `name`")
	p.SpanFlags(cmd, &q.From, &q.To)
	o := p.NewOutput(cmd)
	o.LimitFlags(cmd)
	return t.Asks(func(ctx context.Context, c *client.Client, _ []string) error {
		q.Page = o.Page()
		columns := command.Fields[andon.SourceRejection](
			"at", "source", "place", "index", "line", "tenant", "reason", "message")
		return command.Show(p, o, columns, c.Rejections(ctx, *source, q))
	})
}
