package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

func (p *program) queryEvents() *cobra.Command {
	q, cmd := p.newList(question{
		use: "events DEVICE", short: "Events of a device",
		example: `  andon query events press-7
  andon query events press-7 --state 'WARNING*' --from 2020-04-24 --to 2020-04-27
  andon query events press-7 --all --output csv > press-7.csv`,
	})
	q.stateFlag(cmd)
	q.selectFlags(cmd)
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		id, err := deviceArg(args[0])
		if err != nil {
			return err
		}
		q.ofDevice(ctx, c, id)
		return show(q.program, &q.output, eventColumns(), c.DeviceEvents(ctx, id, q.selected))
	})
}

func (p *program) queryOperator() *cobra.Command {
	q, cmd := p.newList(question{
		use: "operator OPERATOR", short: "Events of an operator, of all devices",
		example: `  andon query operator Liz --state 'WARNING*'
  andon query operator Liz --from 2020-04-24T06:00:00Z --to 2020-04-24T14:00:00Z`,
	})
	q.stateFlag(cmd)
	q.selectFlags(cmd)
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		id, err := personArg("operator", args[0])
		if err != nil {
			return err
		}
		return show(q.program, &q.output, eventColumns(), c.OperatorEvents(ctx, id, q.selected))
	})
}

func (p *program) querySupervisor() *cobra.Command {
	q, cmd := p.newList(question{
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
		id, err := personArg("supervisor", args[0])
		if err != nil {
			return err
		}
		if *date != "" {
			if q.selected.From, q.selected.To, err = dayOf(*date); err != nil {
				return err
			}
		}
		return show(q.program, &q.output, eventColumns(), c.SupervisorEvents(ctx, id, q.selected))
	})
}

// dayOf returns the bounds of a UTC day.
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

func eventColumns() []column[andon.Event] {
	type event = andon.Event
	return []column[event]{
		textColumn("device", func(e *event) string { return string(e.Device) }),
		exactColumn("time", func(e *event) andon.Time { return e.Time }),
		ageColumn("age", func(e *event) andon.Time { return e.Time }),
		stateColumn(func(e *event) andon.State { return e.State }),
		textColumn("operator", func(e *event) string { return string(e.Operator) }),
		textColumn("escalated_to", func(e *event) string { return string(e.EscalatedTo) }),
		textColumn("message", func(e *event) string { return e.Message }),
		programColumn("attributes", func(e *event) string { return string(e.Attributes) }),
	}
}

func (p *program) queryEntry() *cobra.Command {
	q, cmd := p.newQuery(question{
		use: "entry DEVICE TIME STATE", short: "One entry with its escalations",
		example: `  andon query entry press-7 2020-04-24T14:40:00Z WARNING1`,
	})
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		id, at, state, err := entryArgs(args[0], args[1], args[2])
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

func entryArgs(device, at, state string) (andon.DeviceID, andon.Time, andon.State, error) {
	id, err := deviceArg(device)
	if err != nil {
		return "", 0, "", err
	}
	t, err := andon.ParseTime(at)
	if err != nil {
		return "", 0, "", err
	}
	return id, t, andon.State(state), misnamed("", andon.State(state).Validate())
}

// showEntry prints an entry, and for a person its escalations below it.
func (q *query) showEntry(entry client.Entry) error {
	if err := showOne(q.program, &q.output, entryColumns(), entry); err != nil || !q.isTable() {
		return err
	}
	if len(entry.Escalations) == 0 {
		return nil
	}
	fmt.Fprintln(q.stdout)
	return show(q.program, &q.output, recordColumns(), each(entry.Escalations))
}

func entryColumns() []column[client.Entry] {
	type entry = client.Entry
	var columns []column[entry]
	for _, c := range eventColumns() {
		of := column[entry]{name: c.name}
		if text := c.text; text != nil {
			of.text = func(e *entry) string { return text(&e.Event) }
		}
		if see := c.cell; see != nil {
			of.cell = func(l looks, e *entry) cell { return see(l, &e.Event) }
		}
		columns = append(columns, of)
	}
	attributes := &columns[len(columns)-1]
	*attributes = textColumn(attributes.name, attributes.text)
	columns = append(columns, textColumn("withdrawn", func(e *entry) string {
		w := e.Withdrawn
		if w == nil {
			return ""
		}
		text := timeShown(w.At)
		if w.By != "" {
			text += " by " + string(w.By)
		}
		if w.Note != "" {
			text += ": " + w.Note
		}
		return text
	}))
	return append(columns, programColumn("escalations", func(e *entry) string {
		text, err := json.Marshal(e.Escalations)
		if err != nil {
			return ""
		}
		return string(text)
	}))
}

func recordColumns() []column[client.Record] {
	type record = client.Record
	return []column[record]{
		textColumn("at", func(r *record) string { return timeShown(r.At) }),
		ageColumn("age", func(r *record) andon.Time { return r.At }),
		textColumn("to", func(r *record) string {
			if r.To == "" {
				return "(withdrawn)"
			}
			return string(r.To)
		}),
		textColumn("by", func(r *record) string { return string(r.By) }),
		textColumn("note", func(r *record) string { return r.Note }),
	}
}
