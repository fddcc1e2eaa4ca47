package query

import (
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

func queryIntervals(p *command.Program) *cobra.Command {
	q, cmd := newList(p, question{
		use: "intervals DEVICE", short: "Runs of one state of a device",
		long: `Runs of one state of a device: from when to when it was in it. A run that began
before --from or ends after --to is given whole.`,
		example: `  andon query intervals press-7
  andon query intervals press-7 --state 'WARNING*' --from 2020-04-24`,
	})
	q.stateFlag(cmd)
	q.selectFlags(cmd)
	return q.asksOf(cmd, func(ctx context.Context, c *client.Client, id andon.DeviceID) error {
		return show(q, intervalColumns(), c.Intervals(ctx, id, q.selected))
	})
}

func intervalColumns() []command.Column[client.Interval] {
	type interval = client.Interval
	length := func(i *interval) andon.Duration {
		return andon.DurationOf(time.Duration(i.Seconds * float64(time.Second)))
	}
	return []command.Column[interval]{
		command.StateColumn(func(i *interval) andon.State { return i.State }),
		command.TimeColumn("from", func(i *interval) andon.Time { return i.From }),
		command.UntilColumn(func(i *interval) andon.Time { return i.To }),
		command.ProgramColumn("seconds", func(i *interval) string {
			return strconv.FormatFloat(i.Seconds, 'f', -1, 64) // no exponent: a sheet takes it
		}),
		{Name: "for", Cell: func(_ command.Looks, i *interval) draw.Cell {
			return draw.Cell{Text: draw.Age(length(i)), Right: true}
		}},
	}
}

func queryAssignments(p *command.Program) *cobra.Command {
	q, cmd := newList(p, question{
		use: "assignments DEVICE", short: "Who was assigned to a device, and when",
		example: `  andon query assignments press-7
  andon query assignments press-7 --order asc --output csv`,
	})
	q.orderFlag(cmd)
	return q.asksOf(cmd, func(ctx context.Context, c *client.Client, id andon.DeviceID) error {
		return show(q, command.AssignmentColumns(), c.Assignments(ctx, id, q.selected))
	})
}

func queryEscalations(p *command.Program) *cobra.Command {
	q, cmd := newList(p, question{
		use: "escalations DEVICE", short: "To whom entries of a device were escalated, and when",
		long: `To whom entries of a device were escalated, by whom and when: all that was recorded
of each entry, the newest first. A withdrawal is to no one. The flags choose among the entries.`,
		example: `  andon query escalations press-7
  andon query escalations press-7 --state 'WARNING*' --from 2020-04-24 --output csv`,
	})
	q.stateFlag(cmd)
	q.selectFlags(cmd)
	return q.asksOf(cmd, func(ctx context.Context, c *client.Client, id andon.DeviceID) error {
		return show(q, escalationColumns(), recordsOf(c.Escalations(ctx, id, q.selected)))
	})
}

// recordsOf gives each record of some entries with its entry.
func recordsOf(entries iter.Seq2[client.Entry, error]) iter.Seq2[client.Escalation, error] {
	return func(yield func(client.Escalation, error) bool) {
		for e, err := range entries {
			if err != nil {
				yield(client.Escalation{}, err)
				return
			}
			for _, r := range e.Escalations {
				one := client.Escalation{Device: e.Device, Time: e.Time, State: e.State, Record: r}
				if !yield(one, nil) {
					return
				}
			}
		}
	}
}

func escalationColumns() []command.Column[client.Escalation] {
	type escalation = client.Escalation
	columns := []command.Column[escalation]{
		command.TextColumn("device", func(e *escalation) string { return string(e.Device) }),
		command.TimeColumn("time", func(e *escalation) andon.Time { return e.Time }),
		command.StateColumn(func(e *escalation) andon.State { return e.State }),
	}
	for _, c := range recordColumns() {
		columns = append(columns, command.Of(c, func(e *escalation) *client.Record {
			return &e.Record
		}))
	}
	return columns
}

func queryRetirements(p *command.Program) *cobra.Command {
	q, cmd := newQuery(p, question{
		use: "retirements DEVICE", short: "When a device was retired, each time, oldest first",
		example: `  andon query retirements press-7
  andon query devices --retired`,
	})
	return q.asksOf(cmd, func(ctx context.Context, c *client.Client, id andon.DeviceID) error {
		all, err := c.Retirements(ctx, id)
		if err != nil {
			return err
		}
		var shown []client.Retirement
		for _, at := range all {
			shown = append(shown, client.Retirement{Device: id, Retired: at})
		}
		return show(q, retirementColumns(), command.Each(shown))
	})
}

func retirementColumns() []command.Column[client.Retirement] {
	type retirement = client.Retirement
	at := func(r *retirement) andon.Time { return r.Retired }
	return []command.Column[retirement]{
		command.TextColumn("device", func(r *retirement) string { return string(r.Device) }),
		command.TimeColumn("retired", at),
		command.AgeColumn("age", at),
	}
}
