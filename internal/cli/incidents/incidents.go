// Package incidents has the commands about incidents: "incident", "report" and "notify".
package incidents

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Command is "andon incident".
func Command(p *command.Program) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "incident",
		Short: "List incidents, and do something about them",
		Long: `List incidents, and do something about them. An incident of a device lasts from
leaving severity 0 to returning to it. Who does something is --by. A server keeps incidents where
its setting incidents is on.`,
		Example: `  andon incident list
  andon incident ack ID --by Liz --expires-in 30m
  andon incident shelve ID --for 2h --reason 'waits for a part' --by Liz`,
	}, list(p), show(p))
	for _, a := range actions() {
		cmd.AddCommand(a.command(p))
	}
	return cmd
}

func list(p *command.Program) *cobra.Command {
	var q client.IncidentQuery
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List incidents: those that are open, or those of a time",
		Long: `List open incidents, severest and longest first. With --from or --to those that
opened then, open or not, newest first.`,
		Example: `  andon incident list --severity 48 --status unacknowledged
  andon incident list --age 1h --operator none
  andon incident list --from 7d --device 'press*' --output csv`,
	}
	flags := cmd.Flags()
	t := p.NewTarget(cmd)
	flags.StringVar(&q.State, "state", "", command.StateHelp)
	flags.StringSliceVar(&q.Status, "status", nil, "only with this `status`, or any of several: "+
		"unacknowledged, acknowledged, returned, latched, shelved, suppressed, "+
		"out-of-service, closed")
	flags.Uint8Var(&q.Severity, "severity", 0, "only from this `severity` on")
	command.ParsedFlag(cmd, &q.Age, "age", "only what has lasted for this `time` at least: 30m",
		andon.ParseDuration)
	flags.StringVar((*string)(&q.Operator), "operator", "",
		"only of this `operator`; none: of nobody")
	flags.StringVar(&q.Kind, "kind", "", "only of this `kind`: state, silent, absent:")
	command.TruthFlag(cmd, &q.Flapping, "flapping",
		"only those whose device is flapping now; --flapping=false: only the others")
	flags.StringVar(&q.Device, "device", "", "only of this `device`, or a prefix: 'press*'")
	flags.StringVar((*string)(&q.Group), "group", "", "only in this `group` and below it")
	sort := command.ChoiceFlag(cmd, "sort", "", "the order of open ones: severity unless set",
		"severity", "since", "opened")
	p.SpanFlags(cmd, &q.From, &q.To)
	o := p.NewOutput(cmd)
	o.LimitFlags(cmd)
	return t.Asks(func(ctx context.Context, c *client.Client, _ []string) error {
		q.Page, q.Sort = o.Page(), sort.Value
		return command.Show(p, o, columns(), c.Incidents(ctx, q))
	})
}

func columns() []command.Column[client.Incident] {
	return command.Fields[client.Incident]("id", "device").State().Fields(
		"severity", "status", "since", "until", "operator", "message").Hidden(
		"kind", "worst", "opened", "ended", "count", "taken_by")
}

// exampleID has the form of the IDs of incidents.
const exampleID = "05a40a57031000-7c01d29f64be83a5fe17302b9d48"

func show(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show the steps of an incident, oldest first; as JSON all of it",
		Example: "  andon incident show " + exampleID,
	}
	t := p.NewTarget(cmd)
	t.Completes(command.OpenIncidents)
	o := p.NewOutput(cmd)
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		is, err := c.Incident(ctx, args[0])
		if err != nil {
			return err
		}
		if o.Format.Value == command.FormatJSON {
			return p.PrintJSON(is)
		}
		steps := command.Fields[client.IncidentStep]("at", "event_time", "what", "by", "to", "note")
		return command.Show(p, o, steps, command.Each(is.Steps))
	})
}

// action is a command by which somebody does something.
type action struct {
	name, do, short, example string
	flags                    func(*cobra.Command, *client.IncidentAction)
}

func actions() []action {
	return []action{
		{"ack", "acknowledge", "Say that you have seen it", " --note 'on my way' --expires-in 30m",
			func(cmd *cobra.Command, a *client.IncidentAction) {
				note(cmd, a)
				command.ParsedFlag(cmd, &a.ExpiresIn, "expires-in",
					"`time` after which it no longer counts: 30m", andon.ParseDuration)
			}},
		{"take", "take", "Make yourself the operator of its device", "", note},
		{"comment", "comment", "Add a comment", " --note 'the valve sticks'", note},
		{"escalate", "escalate", "Escalate its entry to a supervisor", " --to Sara",
			func(cmd *cobra.Command, a *client.IncidentAction) {
				note(cmd, a)
				cmd.Flags().StringVar((*string)(&a.To), "to", "", "the `supervisor`")
			}},
		{"shelve", "shelve", "Hide it for a time", " --for 2h --reason 'waits for a part'",
			func(cmd *cobra.Command, a *client.IncidentAction) {
				reason(cmd, a)
				command.ParsedFlag(cmd, &a.For, "for", "for this `time`: 2h", andon.ParseDuration)
				command.ParsedFlag(cmd, &a.Until, "until", "until this `time`", andon.ParseTime)
				cmd.Flags().BoolVar(&a.Once, "once", false, "until the device returns to normal")
			}},
		{"unshelve", "unshelve", "End its shelving", "", note},
		{"out-of-service", "out-of-service", "Take its device out of service, for this kind", "",
			reason},
		{"in-service", "in-service", "End that it is out of service", "", note},
		{"reset", "reset", "Reset what is latched", "", note},
	}
}

func note(cmd *cobra.Command, a *client.IncidentAction) {
	cmd.Flags().StringVar(&a.Note, "note", "", "a note, as `text`")
}

func reason(cmd *cobra.Command, a *client.IncidentAction) {
	cmd.Flags().StringVar(&a.Reason, "reason", "", "why, as `text`")
}

func (a *action) command(p *command.Program) *cobra.Command {
	sent := client.IncidentAction{Do: a.do}
	cmd := &cobra.Command{
		Use: a.name + " ID --by PERSON", Short: a.short,
		Example: "  andon incident " + a.name + " " + exampleID + " \\\n      --by Liz" + a.example,
	}
	t := p.NewTarget(cmd)
	t.Completes(command.OpenIncidents)
	cmd.Flags().StringVar((*string)(&sent.By), "by", "", "`person` who does it")
	t.CompletesFlag("by", command.DocumentNames("person"))
	_ = cmd.MarkFlagRequired("by") // the only error is that there is no such flag
	a.flags(cmd, &sent)
	form := command.SentenceFlag(cmd, command.FormatText)
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		is, err := c.Act(ctx, args[0], sent)
		if err != nil {
			return err
		}
		return p.Report(form, is, "%s: %s is %s", is.ID, draw.Legible(string(is.Device)), is.Status)
	})
}
