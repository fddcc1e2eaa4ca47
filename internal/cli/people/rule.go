package people

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Rule is "andon rule".
func Rule(p *command.Program) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "rule",
		Short: "Try what a rule on readings would have said",
		Long: `Try what a rule on readings would have said. andon apply makes and changes rules, and
andon export config shows them.`,
		Example: "  andon rule test press-hot.yaml --from 7d",
	}, testRule(p))
}

func testRule(p *command.Program) *cobra.Command {
	var trial client.RuleTrial
	cmd := &cobra.Command{
		Use:   "test FILE",
		Short: "Replay stored readings, and list what a rule would have said",
		Long: `Replay stored readings, and list what a rule would have said. The file is as andon
apply takes it, with one document of the kind rule; - is standard input. The rule is evaluated as
if it had been there, and no other rule; at the start it is not raised. Without --from it is the
day before --to. Nothing is stored.`,
		Example: `  andon rule test press-hot.yaml --from 7d
  andon rule test press-hot.yaml --from 2026-11-20 --to 2026-11-21 --output json`,
	}
	t := p.NewTarget(cmd)
	o := p.NewOutput(cmd)
	p.SpanFlags(cmd, &trial.From, &trial.To)
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		all, err := readAll(p, args)
		if err == nil && (len(all) != 1 || all[0].Kind != "rule") {
			err = fmt.Errorf("%s: want one document, of the kind rule", args[0])
		}
		if err != nil {
			return err
		}
		trial.Rule = all[0].Content
		is, err := c.TestRule(ctx, trial)
		if err != nil {
			return err
		}
		said := command.Fields[client.RuleSaid]("device", "time", "what", "state", "message")
		if err := command.Show(p, o, said, command.Each(is.Items)); err != nil {
			return err
		}
		fmt.Fprintf(p.Stderr, "%d readings of %d devices from %s to %s.\n", is.Readings, is.Devices,
			is.From, is.To)
		if is.Failures > 0 {
			fmt.Fprintf(p.Stderr, "%d could not be evaluated: %s\n", is.Failures,
				draw.Legible(is.Error))
		}
		if is.More {
			fmt.Fprintln(p.Stderr, "It would have said more.")
		}
		return nil
	})
}
