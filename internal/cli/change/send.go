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

type sending struct {
	*command.Program
	*command.Target
	event      andon.Event
	attributes map[string]string
	metrics    map[string]string
	form       *command.Choice
}

// Send is "andon send".
func Send(p *command.Program) *cobra.Command {
	s := &sending{Program: p}
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
	flags, e := cmd.Flags(), &s.event
	s.Target = p.NewTarget(cmd)
	command.ParsedFlag(cmd, &e.Time, "time", "its `time` (default: now)", andon.ParseTime)
	flags.StringVar(&e.Message, "message", "", "`text` of the event")
	flags.StringVar((*string)(&e.Operator), "operator", "", "`person` who is responsible")
	flags.StringVar((*string)(&e.EscalatedTo), "escalated-to", "",
		"`person` to whom it is escalated")
	flags.StringToStringVar(&s.attributes, "attribute", nil,
		"`name=text` that is stored with the event; repeat for more")
	flags.StringToStringVar(&s.metrics, "metric", nil,
		"`name=number` of a reading; repeat for more, or join with commas")
	s.form = command.SentenceFlag(cmd, command.FormatJSON)
	return s.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		e.Device, e.Time = andon.DeviceID(args[0]), cmp.Or(e.Time, p.Now())
		if len(args) > 1 {
			e.State = andon.State(args[1])
		}
		if len(s.metrics) > 0 {
			return s.sendReading(ctx, c)
		}
		return s.sendEvent(ctx, c)
	})
}

func (s *sending) sendEvent(ctx context.Context, c *client.Client) error {
	e := &s.event
	if e.State == "" {
		return andon.Errorf(andon.Invalid, "STATE is missing, or --metric for a reading")
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
	result, err := c.AppendEvents(ctx, []andon.Event{*e})
	return s.report(e, result, err)
}

func (s *sending) sendReading(ctx context.Context, c *client.Client) error {
	r := andon.Reading{Device: s.event.Device, Time: s.event.Time}
	if s.event != (andon.Event{Device: r.Device, Time: r.Time}) || len(s.attributes) > 0 {
		return andon.Errorf(andon.Invalid, "a reading has no field of an event: "+
			"send them one after the other")
	}
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
	result, err := c.AppendReadings(ctx, []andon.Reading{r})
	return s.report(&r, result, err)
}

// report prints what the server accepted, or why it rejected it.
func (s *sending) report(what any, result client.Result, err error) error {
	switch {
	case err != nil:
		return err
	case len(result.Rejected) > 0:
		fmt.Fprintln(s.Stderr, draw.Legible(result.Rejected[0].Error))
		return command.ErrRejected
	}
	for _, state := range result.UnknownStates {
		fmt.Fprintf(s.Stderr, "state %s is not in the set of tenant %s: it is kept, with severity "+
			"%d. andon tenant set --unknown-states refuse refuses such states\n",
			draw.Legible(string(state)), s.Tenant, andon.UnknownSeverity)
	}
	return s.Report(s.form, what, "sent, time %s", s.event.Time)
}
