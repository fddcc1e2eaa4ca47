package change

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/ingest"
)

// sending has the flags of the command.
type sending struct {
	command.Target
	at         andon.Time
	operator   string
	message    string
	escalated  string
	attributes map[string]string
	metrics    map[string]string
	form       *command.Choice
}

// Send is "andon send".
func Send(p *command.Program) *cobra.Command {
	s := &sending{Target: p.NewTarget()}
	cmd := &cobra.Command{
		Use:   "send DEVICE [STATE]",
		Short: "Send one event, or one reading",
		Long: `Send one event of a device, or with --metric one reading. The default of --time is
now. It prints what was sent, so that it can be sent again: an entry with the same device, time and
state is the same entry.`,
		Example: `  andon send press-7 WARNING1 --message 'oil is hot' --operator Liz
  andon send press-7 NORMAL --attribute line=L3
  andon send press-7 --metric temperature=21.5 --metric door=true`,
	}
	cmd.Args = cobra.RangeArgs(1, 2)
	flags := cmd.Flags()
	s.Flags(cmd)
	command.ParsedFlag(cmd, &s.at, "time", "its `time` (default: now)", andon.ParseTime)
	flags.StringVar(&s.message, "message", "", "`text` of the event")
	flags.StringVar(&s.operator, "operator", "", "`person` who is responsible")
	flags.StringVar(&s.escalated, "escalated-to", "", "`person` to whom it is escalated")
	flags.StringToStringVar(&s.attributes, "attribute", nil,
		"`name=text` that is stored with the event; repeat for more")
	flags.StringToStringVar(&s.metrics, "metric", nil,
		"`name=number` of a reading; repeat for more, or join with commas")
	s.form = command.SentenceFlag(cmd, command.FormatJSON)
	cmd.RunE = p.Does(func(ctx context.Context, args []string) error {
		device, err := command.DeviceArg(args[0])
		if err != nil {
			return err
		}
		s.at = cmp.Or(s.at, p.Now())
		if len(s.metrics) > 0 {
			return sendReading(ctx, p, s, device, args[1:])
		}
		return sendEvent(ctx, p, s, device, args[1:])
	})
	return cmd
}

func sendEvent(
	ctx context.Context, p *command.Program, s *sending, device andon.DeviceID, state []string,
) error {
	if len(state) == 0 {
		return andon.Errorf(andon.Invalid, "STATE is missing, or --metric for a reading")
	}
	e := andon.Event{
		Device: device, Time: s.at, State: andon.State(state[0]), Message: s.message,
		Operator: andon.PersonID(s.operator), EscalatedTo: andon.PersonID(s.escalated),
	}
	if len(s.attributes) > 0 {
		text, err := json.Marshal(s.attributes)
		if err != nil {
			return err
		}
		e.Attributes = andon.JSON(text)
	}
	if err := e.Validate(); err != nil {
		return err
	}
	return s.Ask(ctx, func(c *client.Client) error {
		result, err := c.AppendEvents(ctx, []andon.Event{e})
		return report(p, s, &e, result, err)
	})
}

func sendReading(
	ctx context.Context, p *command.Program, s *sending, device andon.DeviceID, state []string,
) error {
	if len(state) > 0 || s.message+s.operator+s.escalated != "" || len(s.attributes) > 0 {
		return andon.Errorf(andon.Invalid, "a reading has no field of an event: "+
			"send them one after the other")
	}
	r := andon.Reading{Device: device, Time: s.at}
	for name, text := range s.metrics {
		value, err := ingest.ParseSwitch(strings.ToLower(text))
		if err != nil {
			return andon.Errorf(andon.Invalid, "--metric %s=%s: %w", name, text, err)
		}
		r.Metrics = append(r.Metrics, andon.Metric{Name: andon.MetricName(name), Value: value})
	}
	var err error
	if r.Metrics, err = r.Metrics.Sorted(); err != nil {
		return err
	}
	if err := r.Validate(); err != nil {
		return err
	}
	return s.Ask(ctx, func(c *client.Client) error {
		result, err := c.AppendReadings(ctx, []andon.Reading{r})
		return report(p, s, &r, result, err)
	})
}

// report prints what the server accepted, or why it rejected it.
func report(p *command.Program, s *sending, what any, result client.Result, err error) error {
	switch {
	case err != nil:
		return err
	case len(result.Rejected) > 0:
		fmt.Fprintln(p.Stderr, draw.Legible(result.Rejected[0].Error))
		return command.ErrRejected
	}
	for _, state := range result.UnknownStates {
		fmt.Fprintf(p.Stderr, "state %s is not in the set of tenant %s: it is kept, with severity "+
			"%d. andon tenant set --unknown-states refuse refuses such states\n",
			draw.Legible(string(state)), s.Tenant, andon.UnknownSeverity)
	}
	return p.Report(s.form, what, "sent, time %s", s.at)
}
