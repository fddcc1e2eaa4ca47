package change

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Withdraw is "andon withdraw".
func Withdraw(p *command.Program) *cobra.Command {
	t := p.NewTarget()
	var by, note string
	cmd := &cobra.Command{
		Use:   "withdraw DEVICE TIME STATE",
		Short: "Withdraw an entry that was wrong",
		Long: `Withdraw an entry that was wrong. Only andon query entry still shows it, with who
withdrew it, when and why. What the device shows is as if the entry had never been sent, and sending
it again does not bring it back.`,
		Example: `  andon withdraw press-7 2020-04-24T14:50:00.25Z WARNING2
  andon withdraw press-7 2020-04-24T14:50:00.25Z WARNING2 --by Liz --note 'wrong clock'`,
	}
	flags := cmd.Flags()
	t.Flags(cmd)
	flags.StringVar(&by, "by", "", "`person` who withdraws it")
	flags.StringVar(&note, "note", "", "the reason, as `text`")
	form := command.SentenceFlag(cmd, command.FormatText)
	cmd.RunE = p.Does(func(ctx context.Context, args []string) error {
		device, at, state, err := command.EntryArgs(args[0], args[1], args[2])
		if err != nil {
			return err
		}
		w := client.Withdrawal{By: andon.PersonID(by), Note: note}
		return t.Ask(ctx, func(c *client.Client) error {
			kept, err := c.Withdraw(ctx, device, at, state, w)
			if err != nil {
				return err
			}
			return p.Report(form, kept, "%s: %s of %s is withdrawn, since %s",
				draw.Legible(string(device)), draw.Legible(string(state)), at, kept.Withdrawn.At)
		})
	})
	return cmd
}
