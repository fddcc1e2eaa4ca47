package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

func (p *program) queryIntervals() *cobra.Command {
	q, cmd := p.newList(question{
		use: "intervals DEVICE", short: "Runs of one state of a device",
		long: `Runs of one state of a device: from when to when it was in it. A run that began
before --from or ends after --to is given whole.`,
		example: `  andon query intervals press-7
  andon query intervals press-7 --state 'WARNING*' --from 2020-04-24`,
	})
	q.stateFlag(cmd)
	q.selectFlags(cmd)
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		id, err := deviceArg(args[0])
		if err != nil {
			return err
		}
		q.ofDevice(ctx, c, id)
		return show(q.program, &q.output, intervalColumns(), c.Intervals(ctx, id, q.selected))
	})
}

func intervalColumns() []column[client.Interval] {
	type interval = client.Interval
	length := func(i *interval) andon.Duration {
		return andon.DurationOf(time.Duration(i.Seconds * float64(time.Second)))
	}
	return []column[interval]{
		stateColumn(func(i *interval) andon.State { return i.State }),
		timeColumn("from", func(i *interval) andon.Time { return i.From }),
		untilColumn(func(i *interval) andon.Time { return i.To }),
		programColumn("seconds", func(i *interval) string {
			return strconv.FormatFloat(i.Seconds, 'f', -1, 64) // no exponent: a sheet takes it
		}),
		{name: "for", cell: func(_ looks, i *interval) cell {
			return cell{text: age(length(i)), right: true}
		}},
	}
}

// untilColumn is when something ended, or that it goes on.
func untilColumn[T any](at func(*T) andon.Time) column[T] {
	c := timeColumn("to", at)
	c.cell = func(_ looks, item *T) cell {
		if at(item) == 0 {
			return cell{text: "now"}
		}
		return cell{text: clock(at(item))}
	}
	return c
}

func (p *program) queryAssignments() *cobra.Command {
	q, cmd := p.newList(question{
		use: "assignments DEVICE", short: "Who was assigned to a device, and when",
		example: `  andon query assignments press-7
  andon query assignments press-7 --order asc --output csv`,
	})
	q.orderFlag(cmd)
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		id, err := deviceArg(args[0])
		if err != nil {
			return err
		}
		q.ofDevice(ctx, c, id)
		return show(q.program, &q.output, assignmentColumns(), c.Assignments(ctx, id, q.selected))
	})
}

func assignmentColumns() []column[client.Assignment] {
	type assignment = client.Assignment
	return []column[assignment]{
		textColumn("device", func(a *assignment) string { return string(a.Device) }),
		{
			name: "operator",
			text: func(a *assignment) string { return string(a.Operator) },
			cell: func(l looks, a *assignment) cell {
				if a.Operator == "" {
					return cell{text: "(nobody)"}
				}
				return cell{text: l.short(legible(string(a.Operator)))}
			},
		},
		timeColumn("from", func(a *assignment) andon.Time { return a.From }),
		untilColumn(func(a *assignment) andon.Time { return a.To }),
		{name: "for", cell: func(l looks, a *assignment) cell {
			end := a.To
			if end == 0 {
				end = l.now
			}
			return cell{text: age(end.Sub(a.From)), right: true}
		}},
	}
}
