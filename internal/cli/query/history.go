package query

import (
	"context"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

func queryIntervals(p *command.Program) *cobra.Command {
	q, cmd := newList(p, &cobra.Command{
		Use: "intervals DEVICE", Short: "Earlier and present states of a device",
		Long: `Earlier and present states of a device, each with its beginning and end.
An interval that began before --from or ends after --to is not cut.`,
		Example: `  andon query intervals press-7
  andon query intervals press-7 --state 'WARNING*' --from 2020-04-24`,
	})
	q.stateFlag(cmd)
	q.selectFlags(cmd)
	return q.runsFor(cmd, func(ctx context.Context, c *client.Client, id andon.DeviceID) error {
		return show(q, intervalColumns(), c.Intervals(ctx, id, q.selected))
	})
}

func intervalColumns() []command.Column[client.Interval] {
	columns := command.Fields[client.Interval]().State().Fields("from", "to").OrElse("to", "now").
		Hidden("seconds")
	return append(columns, command.Column[client.Interval]{
		Name: "for", Cell: func(_ command.Looks, i *client.Interval) draw.Cell {
			length := andon.DurationOf(time.Duration(i.Seconds * float64(time.Second)))
			return draw.Cell{Text: draw.Age(length), Right: true}
		},
	})
}

func queryAssignments(p *command.Program) *cobra.Command {
	q, cmd := newList(p, &cobra.Command{
		Use: "assignments DEVICE", Short: "Who was assigned to a device, and when",
		Example: `  andon query assignments press-7
  andon query assignments press-7 --order asc --output csv`,
	})
	q.orderFlag(cmd)
	return q.runsFor(cmd, func(ctx context.Context, c *client.Client, id andon.DeviceID) error {
		return show(q, command.AssignmentColumns(), c.Assignments(ctx, id, q.selected))
	})
}

func queryEscalations(p *command.Program) *cobra.Command {
	q, cmd := newList(p, &cobra.Command{
		Use: "escalations DEVICE", Short: "To whom entries of a device were escalated, and when",
		Long: `To whom entries of a device were escalated, by whom and when: all escalations of each
entry, the newest first. A withdrawal is to nobody. The flags select entries.`,
		Example: `  andon query escalations press-7
  andon query escalations press-7 --state 'WARNING*' --from 2020-04-24 --output csv`,
	})
	q.stateFlag(cmd)
	q.selectFlags(cmd)
	return q.runsFor(cmd, func(ctx context.Context, c *client.Client, id andon.DeviceID) error {
		columns := recordColumns(command.Fields[andon.Escalation]("device", "time").State())
		return show(q, columns, command.Records(c.Escalations(ctx, id, q.selected),
			andon.Desc))
	})
}

func queryRetirements(p *command.Program) *cobra.Command {
	q, cmd := newQuery(p, &cobra.Command{
		Use: "retirements DEVICE", Short: "When a device was retired, each time, oldest first",
		Example: `  andon query retirements press-7
  andon query devices --retired`,
	})
	return q.runsFor(cmd, func(ctx context.Context, c *client.Client, id andon.DeviceID) error {
		all, err := c.Retirements(ctx, id)
		if err != nil {
			return err
		}
		var shown []andon.Retirement
		for _, at := range all {
			shown = append(shown, andon.Retirement{Device: id, At: at})
		}
		columns := command.Fields[andon.Retirement]("device", "retired").Age("age", "retired")
		return show(q, columns, command.Each(shown))
	})
}

func queryNames(p *command.Program) (all []*cobra.Command) {
	for _, n := range []struct {
		name, short string
		list        func(*client.Client, context.Context) iter.Seq2[client.Name, error]
	}{
		{"operators", "All operators, and how many devices each has now",
			(*client.Client).Operators},
		{"supervisors", "All supervisors, and how many devices are escalated to each now",
			(*client.Client).Supervisors},
		{"metrics", "All metrics, and how many devices sent each", (*client.Client).Metrics},
	} {
		q, cmd := newList(p, &cobra.Command{
			Use: n.name, Short: n.short,
			Long: n.short + `, by name. A number is
absent if the store can't count. Names without any device may be listed, with 0.`,
			Example: "  andon query " + n.name +
				"\n  andon query " + n.name + " --all --output csv",
		})
		all = append(all, q.runs(cmd,
			func(ctx context.Context, c *client.Client, _ []string) error {
				return show(q, command.Fields[client.Name]("name", "devices"), n.list(c, ctx))
			}))
	}
	return all
}
