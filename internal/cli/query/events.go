package query

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

func queryEvents(p *command.Program) *cobra.Command {
	q, cmd := newList(p, question{
		use: "events [DEVICE]", short: "Events of a device, or of all of them",
		long: `Events of a device, or of all devices, by time. With --after those of all devices
come in the order of their arrival, late ones too, after a position: each event has the position
after it, and standard error says where to go on, also where there was nothing. oldest is all that
the server keeps in that order, newest what arrives from now on. A sender that repeats itself is
there twice.`,
		example: `  andon query events press-7
  andon query events --state 'WARNING*' --from today
  andon query events press-7 --state 'WARNING*' --from 2020-04-24 --to 2020-04-27
  andon query events press-7 --all --output csv > press-7.csv
  andon query events --after oldest --all > arrived.ndjson
  andon query events --after 9ix4b1-sy --all >> arrived.ndjson`,
	})
	q.stateFlag(cmd)
	q.selectFlags(cmd)
	after := cmd.Flags().String("after", "",
		"what arrived after this `position` of all devices; oldest, newest")
	cmd.MarkFlagsMutuallyExclusive("after", "order")
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		if *after != "" {
			return q.since(ctx, c, args, *after)
		}
		if len(args) == 0 {
			return show(q, command.EventColumns(), c.Events(ctx, q.selected))
		}
		id, err := command.DeviceArg(args[0])
		if err != nil {
			return err
		}
		q.ofDevice(ctx, c, id)
		return show(q, command.EventColumns(), c.DeviceEvents(ctx, id, q.selected))
	})
}

// since shows what arrived behind a position, and says where to go on: behind the last event that
// was shown, if a limit ended the answer.
func (q *query) since(ctx context.Context, c *client.Client, args []string, after string) error {
	if len(args) > 0 {
		return andon.Errorf(andon.Invalid, "--after is of all devices: without %s", args[0])
	}
	at := after
	behind := func(p andon.Position) { at = p.String() }
	columns := command.EventFields[andon.Arrival]().Fields("position")
	items := c.AllEventsSince(ctx, after, q.selected, behind)
	err := show(q, columns, func(yield func(andon.Arrival, error) bool) {
		for item, err := range items {
			if !yield(item, err) {
				return
			}
			behind(item.Position)
		}
	})
	if err == nil && at != after {
		fmt.Fprintln(q.Stderr, "go on with --after "+at)
	}
	return err
}

func queryOperator(p *command.Program) *cobra.Command {
	q, cmd := newList(p, question{
		use: "operator OPERATOR", short: "Events of an operator, of all devices",
		example: `  andon query operator Liz --state 'WARNING*'
  andon query operator Liz --from 2020-04-24T06:00:00Z --to 2020-04-24T14:00:00Z`,
	})
	q.stateFlag(cmd)
	q.selectFlags(cmd)
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		id, err := command.PersonArg("operator", args[0])
		if err != nil {
			return err
		}
		return show(q, command.EventColumns(), c.OperatorEvents(ctx, id, q.selected))
	})
}

func querySupervisor(p *command.Program) *cobra.Command {
	q, cmd := newList(p, question{
		use: "supervisor SUPERVISOR", short: "Events that are escalated to a supervisor now",
		example: `  andon query supervisor Sara
  andon query supervisor Sara --date 2020-04-27 --state 'WARNING*'`,
	})
	q.stateFlag(cmd)
	q.selectFlags(cmd)
	date := cmd.Flags().String("date", "", "only that UTC `day`: 2020-04-27")
	cmd.MarkFlagsMutuallyExclusive("date", "from")
	cmd.MarkFlagsMutuallyExclusive("date", "to")
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		id, err := command.PersonArg("supervisor", args[0])
		if err != nil {
			return err
		}
		if *date != "" {
			if q.selected.From, q.selected.To, err = dayOf(*date); err != nil {
				return err
			}
		}
		return show(q, command.EventColumns(), c.SupervisorEvents(ctx, id, q.selected))
	})
}

func dayOf(date string) (from, to andon.Time, err error) {
	if from, err = andon.ParseTime(date); err != nil {
		return 0, 0, err
	}
	if len(date) != len("2006-01-02") {
		return 0, 0, andon.Errorf(andon.Invalid, "--date %q is not of the form 2006-01-02", date)
	}
	to, err = andon.ParseUpperBound(date)
	return from, to, err
}

func queryEntry(p *command.Program) *cobra.Command {
	q, cmd := newQuery(p, question{
		use: "entry DEVICE TIME STATE", short: "One entry with its escalations",
		example: `  andon query entry press-7 2020-04-24T14:40:00Z WARNING1`,
	})
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		id, at, state, err := command.EntryArgs(args[0], args[1], args[2])
		if err != nil {
			return err
		}
		entry, err := c.Entry(ctx, id, at, state)
		if err != nil {
			return err
		}
		return q.showEntry(entry)
	})
}

// showEntry prints an entry, and for a person its escalations below it.
func (q *query) showEntry(entry client.Entry) error {
	if err := command.ShowOne(q.Program, &q.Output, entryColumns(), entry); err != nil ||
		!q.IsTable() {
		return err
	}
	if len(entry.Escalations) == 0 {
		return nil
	}
	fmt.Fprintln(q.Stdout)
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
		text := command.TimeShown(w.At)
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

// recordColumns adds those of a record of an escalation.
func recordColumns[T any](columns command.Columns[T]) []command.Column[T] {
	return columns.Fields("at").Age("age", "at").Fields("to", "by", "note").
		OrElse("to", "(withdrawn)")
}
