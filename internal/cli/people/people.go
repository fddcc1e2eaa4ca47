// Package people has the commands about the documents of people: "apply", "export config",
// "policy", "schedule" and "rule".
package people

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Apply is "andon apply".
func Apply(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply --file FILE",
		Short: "Make or change policies, schedules, rules, people by files",
		Long: `Make or change policies, schedules, rules, people, maintenance and groups by files,
which can live in git. A document has a kind (policy, schedule, rule, person, maintenance), a name,
and the fields that the path of its kind takes. A YAML file has several, with --- between them; a
JSON file has several objects, and standard input is either. They may refer to each other, in any
order and across files. One document may have the kind groups: its rules replace those that are
there, its members say which device is in which group.

Where one document is wrong, none is applied. What is equal to what is there stays as it is, and
what no file has stays, too. A schedule without a field overrides keeps its overrides.`,
		Example: `  andon apply -f people/ --dry-run
  andon apply -f line-3.yaml
  andon export config --url http://old:8080 | andon apply -f -`,
	}
	t := p.NewTarget(cmd)
	from := cmd.Flags().StringSliceP("file", "f", nil,
		"`file`, or a directory with all *.yaml, *.yml, *.json and *.ndjson below it; "+
			"- is standard input")
	_ = cmd.MarkFlagRequired("file") // the only error is that there is no such flag
	dry := cmd.Flags().Bool("dry-run", false, "only say what would change")
	form := command.SentenceFlag(cmd, command.FormatText)
	return t.Asks(func(ctx context.Context, c *client.Client, _ []string) error {
		all, err := readAll(p, *from)
		if err != nil {
			return err
		}
		applied, err := put(ctx, c, all, *dry)
		if err != nil {
			return err
		}
		would := ""
		if *dry && form.Value == command.FormatText {
			would = "would be "
		}
		for _, d := range applied {
			what := would + d.Change
			if d.Change == "unchanged" {
				what = d.Change
			}
			err := p.Report(form, d, "%s %s: %s", d.Kind, draw.Legible(d.Name), what)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// put makes or changes documents: all, or none where one is wrong.
func put(
	ctx context.Context, c *client.Client, all []document, dry bool,
) ([]client.DocumentApplied, error) {
	all, groups, in, err := splitGroups(all)
	if err != nil {
		return nil, err
	}
	sent := make([]client.Document, len(all))
	for i := range all {
		sent[i] = all[i].Document
	}
	applied, err := c.Apply(ctx, sent, dry)
	if err != nil {
		return nil, explained(err, all)
	}
	if groups == nil {
		return applied, nil
	}
	is := client.DocumentApplied{Kind: groupsKind, Name: groups.Name}
	if is.Change, err = in.apply(ctx, c, dry); err != nil {
		return nil, fmt.Errorf("put devices into groups: %w", err)
	}
	return append(applied, is), nil
}

// explained names the file and the place in it of what a server refuses.
func explained(err error, all []document) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	var said []string
	for _, f := range e.Fields {
		text, is := strings.CutPrefix(f.Location, "body.documents[")
		number, place, _ := strings.Cut(text, "].")
		i, bad := strconv.Atoi(number)
		if !is || bad != nil || i >= len(all) {
			return err
		}
		place = strings.TrimPrefix(strings.TrimPrefix(place, "content"), ".")
		said = append(said, all[i].said(place, f.Message))
	}
	if len(said) == 0 {
		return err
	}
	return fmt.Errorf("%s\nNothing was applied", strings.Join(said, "\n"))
}

// said is what is wrong at a place of a document.
func (d *document) said(place, what string) string {
	if place != "" { // which a message may begin with
		what = place + ": " + strings.TrimPrefix(what, "body."+place+" ")
	}
	return fmt.Sprintf("%s: %s %s: %s", d.from, d.Kind, draw.Legible(d.Name), what)
}

// Policy is "andon policy".
func Policy(p *command.Program) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "policy",
		Short: "Try what an escalation policy would do",
		Long: `Try what an escalation policy would do. andon apply makes and changes policies, and
andon export config shows them.`,
		Example: "  andon policy test presses --severity 64 --group plant-1/hall-3",
	}, test(p))
}

func test(p *command.Program) *cobra.Command {
	var trial client.PolicyTrial
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Show what a policy would do about an incident, and when",
		Long: `Show what a policy would do about an incident that opens at a time, if nobody did
anything about it. Schedules, quiet hours and maintenance are as they will be then. Turns begin
with the first person. Nothing is stored, and nobody is told. Where another policy would be
followed, or none, that is said on standard error.`,
		Example: `  andon policy test presses --severity 64 --group plant-1/hall-3
  andon policy test presses --at 2026-12-24T23:00:00+01:00 --device press-7 --operator Liz`,
	}
	t := p.NewTarget(cmd)
	t.Completes(command.DocumentNames("policy"))
	o := p.NewOutput(cmd)
	flags := cmd.Flags()
	command.ParsedFlag(cmd, &trial.At, "at", "`time` at which it opens; now unless set",
		andon.ParseTime)
	flags.Uint8Var(&trial.Severity, "severity", 0,
		"`severity` of the incident; that of --state unless set")
	flags.StringVar((*string)(&trial.Group), "group", "", "`group` that its device is in")
	flags.StringVar((*string)(&trial.Device), "device", "", "its `device`")
	flags.StringVar((*string)(&trial.State), "state", "", "its `state`")
	flags.StringVar((*string)(&trial.Operator), "operator", "", "`operator` of its device")
	flags.StringVar(&trial.Kind, "kind", "", "its `kind`: state unless set, silent, or absent:RULE")
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		is, err := c.TestPolicy(ctx, args[0], trial)
		if err != nil {
			return err
		}
		steps := command.Fields[client.IncidentStep]("at", "what", "to", "note")
		if err := command.Show(p, o, steps, command.Each(is.Steps)); err != nil {
			return err
		}
		switch {
		case is.Followed == "":
			fmt.Fprintf(p.Stderr, "No policy matches such an incident, not %s either.\n", args[0])
		case is.Followed != is.Policy:
			fmt.Fprintf(p.Stderr, "For such an incident %s would be followed, not %s.\n",
				draw.Legible(is.Followed), args[0])
		}
		if is.More {
			fmt.Fprintln(p.Stderr, "It would go on like this.")
		}
		return nil
	})
}

// Schedule is "andon schedule".
func Schedule(p *command.Program) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "schedule",
		Short: "Say who is on call, and put somebody on call for a time",
		Long: `Say who is on call, and put somebody on call for a time. andon apply makes and
changes schedules, and andon export config shows them.`,
		Example: `  andon schedule on-call line-3
  andon schedule override line-3 Tom --to 2026-12-25T06:00:00+01:00`,
	}, onCall(p), calendar(p), override(p), removeOverride(p))
}

func calendar(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "calendar NAME",
		Short: "Print the address of a schedule's calendar",
		Long: `Print the address at which a phone or another program can subscribe to the
calendar of a schedule without a token. Whoever has the address can read this
calendar and nothing else, for as long as the schedule exists.`,
		Example: `  andon schedule calendar line-3`,
	}
	t := p.NewTarget(cmd)
	t.Completes(command.DocumentNames("schedule"))
	form := command.SentenceFlag(cmd, command.FormatText)
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		address, err := c.CalendarLink(ctx, args[0])
		if err != nil {
			return err
		}
		if strings.HasPrefix(address, "/") {
			address = strings.TrimSuffix(t.URL, "/") + address
		}
		return p.Report(form, client.CalendarLink{URL: address}, "%s", address)
	})
}

func onCall(p *command.Program) *cobra.Command {
	var at andon.Time
	cmd := &cobra.Command{
		Use:   "on-call NAME",
		Short: "Say who is on call by a schedule, now or at a time",
		Example: `  andon schedule on-call line-3
  andon schedule on-call line-3 --at 2026-12-24T23:00:00+01:00`,
	}
	t := p.NewTarget(cmd)
	t.Completes(command.DocumentNames("schedule"))
	command.ParsedFlag(cmd, &at, "at", "`time` that is asked about; now unless set",
		andon.ParseTime)
	form := command.SentenceFlag(cmd, command.FormatText)
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		is, err := c.OnCall(ctx, args[0], at)
		if err != nil {
			return err
		}
		who, until := "nobody", ""
		if is.Person != "" {
			who = draw.Legible(string(is.Person))
		}
		if is.To != 0 {
			until = " until " + is.To.String()
		}
		switch {
		case is.Reason != "":
			until += " (" + draw.Legible(is.Reason) + ")"
		case is.Gap && is.Person != "":
			until += " (the first layer has nobody)"
		}
		return p.Report(form, is, "%s%s", who, until)
	})
}

func removeOverride(p *command.Program) *cobra.Command {
	var at andon.Time
	cmd := &cobra.Command{
		Use:   "remove-override NAME PERSON",
		Short: "Remove a person's overrides",
		Long:  `Remove a person's overrides: all that have not ended, or those of a time.`,
		Example: `  andon schedule remove-override line-3 Tom
  andon schedule remove-override line-3 Tom --at 2026-12-24T12:00:00+01:00`,
	}
	t := p.NewTarget(cmd)
	t.Completes(command.DocumentNames("schedule"), command.DocumentNames("person"))
	command.ParsedFlag(cmd, &at, "at", "`time` that they are about", andon.ParseTime)
	form := command.SentenceFlag(cmd, command.FormatText)
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		if err := c.RemoveOverrides(ctx, args[0], andon.PersonID(args[1]), at); err != nil {
			return err
		}
		removed := map[string]string{"schedule": args[0], "person": args[1]}
		return p.Report(form, removed, "%s is on call as the layers of %s say",
			draw.Legible(args[1]), draw.Legible(args[0]))
	})
}

func override(p *command.Program) *cobra.Command {
	var o client.Override
	cmd := &cobra.Command{
		Use:   "override NAME PERSON --to TIME",
		Short: "Put a person on call for a time, whatever the schedule says",
		Long: `Put a person on call for a time, whatever the layers of the schedule say. Where two
overrides are about one time, the newer one counts.`,
		Example: `  andon schedule override line-3 Tom --to 2026-12-25T06:00:00+01:00
  andon schedule override line-3 Tom --from 2026-12-24T06:00:00+01:00 \
    --to 2026-12-25T06:00:00+01:00 --reason "Liz is on holiday"`,
	}
	t := p.NewTarget(cmd)
	t.Completes(command.DocumentNames("schedule"), command.DocumentNames("person"))
	command.ParsedFlag(cmd, &o.From, "from", "`time` from which on; now unless set",
		andon.ParseTime)
	command.ParsedFlag(cmd, &o.To, "to", "`time` at which it ends", andon.ParseTime)
	_ = cmd.MarkFlagRequired("to") // the only error is that there is no such flag
	cmd.Flags().StringVar(&o.Reason, "reason", "", "`reason` that is shown with it")
	form := command.SentenceFlag(cmd, command.FormatText)
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		o.Person = andon.PersonID(args[1])
		if o.From == 0 {
			o.From = p.Now()
		}
		if err := c.Override(ctx, args[0], o); err != nil {
			return err
		}
		return p.Report(form, o, "%s is on call from %s to %s", draw.Legible(args[1]), o.From, o.To)
	})
}
