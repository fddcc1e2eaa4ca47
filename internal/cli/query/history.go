package query

import (
	"context"
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
