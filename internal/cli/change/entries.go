package change

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Escalate is "andon escalate".
func Escalate(p *command.Program) *cobra.Command {
	var e andon.Escalation
	cmd := &cobra.Command{
		Use:   "escalate DEVICE (--to SUPERVISOR | --withdraw)",
		Short: "Escalate the present entry of a device, or withdraw that",
		Long: `Escalate the entry that a device shows now to a supervisor, or withdraw its
escalation. --time and --state name another entry. The newest escalation of an entry counts; all are
kept.`,
		Example: `  andon escalate press-7 --to Sara --by Liz --note 'the third time today'
  andon escalate press-7 --withdraw
  andon escalate press-7 --to Sara --time 2020-04-24T14:40:00Z --state WARNING1`,
	}
	flags := cmd.Flags()
	t := p.NewTarget(cmd)
	flags.StringVar((*string)(&e.To), "to", "", "`supervisor` to escalate to")
	withdraw := flags.Bool("withdraw", false, "withdraw the escalation")
	flags.StringVar((*string)(&e.By), "by", "", "`person` who escalates")
	flags.StringVar(&e.Note, "note", "", "the reason, as `text`")
	command.ParsedFlag(cmd, &e.Time, "time", "`time` of another entry, with --state",
		andon.ParseTime)
	flags.StringVar((*string)(&e.State), "state", "", "`state` of another entry, with --time")
	form := command.SentenceFlag(cmd, command.FormatText)
	cmd.MarkFlagsMutuallyExclusive("to", "withdraw")
	cmd.MarkFlagsOneRequired("to", "withdraw")
	cmd.MarkFlagsRequiredTogether("time", "state")
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		if e.To == "" && !*withdraw { // an empty name would withdraw
			return andon.Errorf(andon.Invalid, "--to names no supervisor")
		}
		e.Device = andon.DeviceID(args[0])
		kept, added, err := c.Escalate(ctx, e)
		if err != nil {
			return err
		}
		return p.Report(form, kept, "%s: %s of %s %s", draw.Legible(string(kept.Device)),
			draw.Legible(string(kept.State)), kept.Time, outcome(&kept, added))
	})
}

func outcome(kept *andon.Escalation, added bool) string {
	switch {
	case kept.To == "" && !added:
		return "was escalated to nobody: there was nothing to withdraw"
	case kept.To == "":
		return "is not escalated any more"
	case !added:
		return "is escalated to " + draw.Legible(string(kept.To)) + " since " + kept.At.String() +
			": nothing was added"
	}
	return "is escalated to " + draw.Legible(string(kept.To))
}

// Withdraw is "andon withdraw".
func Withdraw(p *command.Program) *cobra.Command {
	var w client.Withdrawal
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
	t := p.NewTarget(cmd)
	flags.StringVar((*string)(&w.By), "by", "", "`person` who withdraws it")
	flags.StringVar(&w.Note, "note", "", "the reason, as `text`")
	form := command.SentenceFlag(cmd, command.FormatText)
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		at, err := andon.ParseTime(args[1])
		if err != nil {
			return err
		}
		kept, err := c.Withdraw(ctx, andon.DeviceID(args[0]), at, andon.State(args[2]), w)
		if err != nil {
			return err
		}
		return p.Report(form, kept, "%s: %s of %s is withdrawn, since %s",
			draw.Legible(args[0]), draw.Legible(args[2]), at, kept.Withdrawn.At)
	})
}
