package incidents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// Notify is "andon notify".
func Notify(p *command.Program) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "notify",
		Short: "Show what people were sent of incidents, and try it",
		Example: `  andon notify test --to Liz
  andon notify list --status given-up`,
	}, notifyTest(p), notifyList(p))
}

func attempts() []command.Column[client.Notification] {
	return command.Fields[client.Notification](
		"at", "to", "channel", "status", "answer", "next_at").Hidden("id", "subject")
}

func notifyList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List attempts to tell people, with what the other side said",
		Example: `  andon notify list --to Liz
  andon notify list --status given-up --output csv`,
	}
	t := p.NewTarget(cmd)
	to := cmd.Flags().String("to", "", "only to this `person`")
	status := command.ChoiceFlag(cmd, "status", "", "only with this status",
		"held", "waiting", "delivered", "failed", "given-up", "listed")
	o := p.NewOutput(cmd)
	o.LimitFlags(cmd)
	return t.Asks(func(ctx context.Context, c *client.Client, _ []string) error {
		all := c.Notifications(ctx, andon.PersonID(*to), status.Value, o.Page())
		return command.Show(p, o, attempts(), all)
	})
}

func notifyTest(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test --to PERSON",
		Short: "Send a test to each contact of a person",
		Long: `Send a test to each contact of a person, and show what the other side said. The exit
code is 1 where one did not arrive.`,
		Example: "  andon notify test --to Liz",
	}
	t := p.NewTarget(cmd)
	to := cmd.Flags().String("to", "", "the `person`")
	t.CompletesFlag("to", command.DocumentNames("person"))
	_ = cmd.MarkFlagRequired("to") // the only error is that there is no such flag
	o := p.NewOutput(cmd)
	return t.Asks(func(ctx context.Context, c *client.Client, _ []string) error {
		all, err := c.TestContacts(ctx, andon.PersonID(*to))
		if err != nil {
			return err
		}
		if err := command.Show(p, o, attempts(), command.Each(all)); err != nil {
			return err
		}
		for _, one := range all {
			if one.Status != "delivered" {
				return fmt.Errorf("channel %s: %s", one.Channel, one.Answer)
			}
		}
		return nil
	})
}
