package change

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

type escalation struct {
	to, by, note string
	withdraw     bool
	at           andon.Time
	state        string
	form         *command.Choice
}

// Escalate is "andon escalate".
func Escalate(p *command.Program) *cobra.Command {
	t := p.NewTarget()
	var e escalation
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
	t.Flags(cmd)
	flags.StringVar(&e.to, "to", "", "`supervisor` to escalate to")
	flags.BoolVar(&e.withdraw, "withdraw", false, "withdraw the escalation")
	flags.StringVar(&e.by, "by", "", "`person` who escalates")
	flags.StringVar(&e.note, "note", "", "the reason, as `text`")
	command.ParsedFlag(cmd, &e.at, "time", "`time` of another entry, with --state",
		andon.ParseTime)
	flags.StringVar(&e.state, "state", "", "`state` of another entry, with --time")
	e.form = command.SentenceFlag(cmd, command.FormatText)
	cmd.MarkFlagsMutuallyExclusive("to", "withdraw")
	cmd.MarkFlagsOneRequired("to", "withdraw")
	cmd.MarkFlagsRequiredTogether("time", "state")
	cmd.RunE = p.Does(func(ctx context.Context, args []string) error {
		wanted, err := e.wanted(args[0])
		if err != nil {
			return err
		}
		return t.Ask(ctx, func(c *client.Client) error {
			return escalate(ctx, p, c, wanted, e.form)
		})
	})
	return cmd
}

func (e *escalation) wanted(device string) (client.Escalation, error) {
	id, err := command.DeviceArg(device)
	if err != nil {
		return client.Escalation{}, err
	}
	if !e.withdraw { // an empty name would withdraw
		if _, err := command.PersonArg("supervisor", e.to); err != nil {
			return client.Escalation{}, err
		}
	}
	return client.Escalation{
		Device: id, Time: e.at, State: andon.State(e.state),
		Record: client.Record{To: andon.PersonID(e.to), By: andon.PersonID(e.by), Note: e.note},
	}, nil
}

func escalate(
	ctx context.Context, p *command.Program, c *client.Client, wanted client.Escalation,
	form *command.Choice,
) error {
	kept, err := c.Escalate(ctx, wanted)
	if err != nil {
		return err
	}
	outcome := "is escalated to " + draw.Legible(string(kept.To))
	switch {
	case kept.To == "" && kept.Again:
		outcome = "was escalated to nobody: there was nothing to withdraw"
	case kept.To == "":
		outcome = "is not escalated any more"
	case kept.Again:
		outcome += " since " + kept.At.String() + ": nothing was added"
	}
	return p.Report(form, kept, "%s: %s of %s %s",
		draw.Legible(string(kept.Device)), draw.Legible(string(kept.State)), kept.Time, outcome)
}
