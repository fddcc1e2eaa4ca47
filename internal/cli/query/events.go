package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

func queryEvents(p *command.Program) *cobra.Command {
	q, cmd := newList(p, &cobra.Command{
		Use: "events [DEVICE]", Short: "Events of a device, or of all of them",
		Long: `Events of a device, or of all devices, by time.

With --after, events of all devices in the order of their arrival after a position, late ones too.
Each event has its position, and standard error has the one to continue from, also if there was no
event. oldest begins with the oldest arrival that the server keeps, newest with the next one. An
event that was sent twice comes twice.`,
		Example: `  andon query events press-7
  andon query events --state 'WARNING*' --from today
  andon query events press-7 --state 'WARNING*' --from 2020-04-24 --to 2020-04-27
  andon query events press-7 --all --output csv > press-7.csv
  andon query events --after oldest --all > arrived.ndjson
  andon query events --after 9ix4b1-sy --all >> arrived.ndjson`,
	})
	q.stateFlag(cmd)
	q.selectFlags(cmd)
	after := cmd.Flags().String("after", "",
		"events of all devices that arrived after this `position`; oldest, newest")
	cmd.MarkFlagsMutuallyExclusive("after", "order")
	return q.runs(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		if *after != "" {
			return q.since(ctx, c, args, *after)
		}
		if len(args) == 0 {
			return show(q, command.EventColumns(), c.Events(ctx, q.selected))
		}
		id := andon.DeviceID(args[0])
		q.explainNone(ctx, c, id)
		return show(q, command.EventColumns(), c.DeviceEvents(ctx, id, q.selected))
	})
}

// since shows what arrived after a position, and prints where to continue: after the last event
// that was shown.
func (q *query) since(ctx context.Context, c *client.Client, args []string, after string) error {
	if len(args) > 0 {
		return andon.Errorf(andon.Invalid, "--after selects from all devices: omit %s", args[0])
	}
	position := after
	reached := func(p andon.Position) { position = p.String() }
	columns := command.EventFields[andon.Arrival]().Fields("position")
	items := c.EventsSince(ctx, after, q.selected, reached)
	err := show(q, columns, func(yield func(andon.Arrival, error) bool) {
		for item, err := range items {
			if !yield(item, err) {
				return
			}
			reached(item.Position)
		}
	})
	if err == nil && position != after {
		fmt.Fprintln(q.Stderr, "continue with --after "+position)
	}
	return err
}

func queryOperator(p *command.Program) *cobra.Command {
	q, cmd := newList(p, &cobra.Command{
		Use: "operator OPERATOR", Short: "Events of an operator",
		Example: `  andon query operator Liz --state 'WARNING*'
  andon query operator Liz --from 2020-04-24T06:00:00Z --to 2020-04-24T14:00:00Z`,
	})
	q.stateFlag(cmd)
	q.selectFlags(cmd)
	return q.runs(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		events := c.OperatorEvents(ctx, andon.PersonID(args[0]), q.selected)
		return show(q, command.EventColumns(), events)
	})
}

func querySupervisor(p *command.Program) *cobra.Command {
	q, cmd := newList(p, &cobra.Command{
		Use: "supervisor SUPERVISOR", Short: "Events that are escalated to a supervisor now",
		Example: `  andon query supervisor Sara
  andon query supervisor Sara --date 2020-04-27 --state 'WARNING*'`,
	})
	q.stateFlag(cmd)
	q.selectFlags(cmd)
	cmd.Flags().Func("date", "only that UTC `day`: 2020-04-27", func(text string) (err error) {
		q.selected.From, q.selected.To, err = dayOf(text)
		return err
	})
	cmd.MarkFlagsMutuallyExclusive("date", "from")
	cmd.MarkFlagsMutuallyExclusive("date", "to")
	return q.runs(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		events := c.SupervisorEvents(ctx, andon.PersonID(args[0]), q.selected)
		return show(q, command.EventColumns(), events)
	})
}

func dayOf(date string) (from, to andon.Time, err error) {
	if from, err = andon.ParseTime(date); err != nil {
		return 0, 0, err
	}
	if len(date) != len("2006-01-02") {
		return 0, 0, errors.New("it is not of the form 2006-01-02")
	}
	to, err = andon.ParseUpperBound(date)
	return from, to, err
}

func queryEntry(p *command.Program) *cobra.Command {
	q, cmd := newQuery(p, &cobra.Command{
		Use: "entry DEVICE TIME STATE", Short: "One entry with its escalations",
		Example: `  andon query entry press-7 2020-04-24T14:40:00Z WARNING1`,
	})
	return q.runs(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		at, err := andon.ParseTime(args[1])
		if err != nil {
			return err
		}
		entry, err := c.Entry(ctx, andon.DeviceID(args[0]), at, andon.State(args[2]))
		if err != nil {
			return err
		}
		return q.showEntry(entry)
	})
}

// showEntry prints an entry. A table has its escalations below.
func (q *query) showEntry(entry client.Entry) error {
	if err := command.ShowOne(q.Program, q.Output, entryColumns(), entry); err != nil ||
		!q.IsTable() {
		return err
	}
	if len(entry.Escalations) == 0 {
		return nil
	}
	fmt.Fprintln(q)
	return show(q, recordColumns(command.Fields[client.Record]()), command.Each(entry.Escalations))
}

func entryColumns() []command.Column[client.Entry] {
	columns := command.EventFields[client.Entry]()
	columns = columns[:len(columns)-1].Fields("attributes")
	withdrawn := func(e *client.Entry) string {
		w := e.Withdrawn
		if w == nil {
			return ""
		}
		text := draw.Clock(w.At)
		if w.By != "" {
			text += " by " + string(w.By)
		}
		if w.Note != "" {
			text += ": " + w.Note
		}
		return text
	}
	columns = append(columns, command.Column[client.Entry]{
		Name: "withdrawn", Text: withdrawn,
		Cell: func(_ command.Looks, e *client.Entry) draw.Cell {
			return draw.Cell{Text: draw.Legible(withdrawn(e))}
		},
	})
	return columns.Hidden("escalations")
}

// recordColumns adds the columns of an escalation.
func recordColumns[T any](columns command.Columns[T]) []command.Column[T] {
	return columns.Fields("at").Age("age", "at").Fields("to", "by", "note").
		OrElse("to", "(withdrawn)")
}
