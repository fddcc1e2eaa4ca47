// Package query has the command "query": what devices show now, and their history.
package query

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Command is "andon query".
func Command(p *command.Program) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "query",
		Short: "Query what devices show now, and their history",
		Long: `Query what devices show now, their history, and who is responsible. Each query has a
subcommand; its flags have the names of the parameters of the HTTP API.

The output is a table on a terminal, elsewhere JSON with one object a line; --output table|json|csv
chooses. States have the colours that the tenant chose; NO_COLOR turns colours off. CSV is for
spreadsheets: a text that one would run as a formula has an apostrophe before it. For texts as they
are there are JSON and andon export.

With --explain the answer is what the store sends to its engine for the query, with rows, bytes and
time. A store without an engine says so.

With --consistency eventual the answer may lack the last moment, where that costs the store less, as
on DynamoDB. With strong it has everything that was acknowledged before, or is refused if the store
can't promise that. The default is the store's setting.

An empty answer is no error: the exit code is 0. If the device was never seen, or no state has the
name, standard error says so.`,
		Example: `  andon query devices --state 'WARNING*' --sort severity
  andon query device press-7
  andon query events press-7 --from 2020-04-24 --output csv
  andon query operator Liz --state 'WARNING*' --limit 10
  andon query devices --state WARNING2 --explain
  andon query latest press-7 press-8 --consistency eventual`,
	})
	cmd.AddCommand(
		queryDevice(p), queryDevices(p), queryStates(p), queryEvents(p), queryEntry(p),
		queryOperator(p), querySupervisor(p), queryIntervals(p), queryAssignments(p),
		queryEscalations(p), queryRetirements(p),
		queryReadings(p), queryLatest(p), queryMetric(p),
	)
	cmd.AddCommand(queryNames(p)...)
	return cmd
}

type query struct {
	*command.Program
	*command.Target
	*command.Output
	selected    client.Query
	order       *command.Choice // nil: the query has no --order
	consistency *command.Choice // "": as the store is set
	explained   bool            // --explain
}

func newQuery(p *command.Program, cmd *cobra.Command) (*query, *cobra.Command) {
	q := &query{Program: p, Target: p.NewTarget(cmd), Output: p.NewOutput(cmd)}
	q.explainFlag(cmd)
	q.consistency = command.ChoiceFlag(cmd, "consistency", "",
		"an answer with everything that was acknowledged before (strong), or one that may "+
			"lack the last moment and costs some stores half (eventual)", "strong", "eventual")
	return q, cmd
}

// newList is newQuery for a subcommand whose answer may be long.
func newList(p *command.Program, cmd *cobra.Command) (*query, *cobra.Command) {
	q, _ := newQuery(p, cmd)
	q.LimitFlags(cmd)
	return q, cmd
}

func (q *query) stateFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&q.selected.State, "state", "", command.StateHelp)
}

func (q *query) orderFlag(cmd *cobra.Command) {
	q.order = command.ChoiceFlag(cmd, "order", "desc", "newest first (desc) or oldest first (asc)",
		"desc", "asc")
}

// selectFlags adds the flags of a list by time.
func (q *query) selectFlags(cmd *cobra.Command) {
	q.SpanFlags(cmd, &q.selected.From, &q.selected.To)
	q.orderFlag(cmd)
}

func (q *query) runs(
	cmd *cobra.Command, work func(context.Context, *client.Client, []string) error,
) *cobra.Command {
	return q.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		q.selected.Page = q.Page()
		if q.order != nil && q.order.Value == "asc" {
			q.selected.Order = andon.Asc
		}
		consistency, err := andon.ParseConsistency(q.consistency.Value)
		if err != nil {
			return err
		}
		c = c.WithConsistency(consistency)
		if q.explained {
			return q.showPlan(ctx, c, func(c *client.Client) error { return work(ctx, c, args) })
		}
		if err := q.readLooks(ctx, c); err != nil {
			return err
		}
		q.None = func() string { return q.unknownState(ctx, c) }
		return work(ctx, c, args)
	})
}

// runsFor is runs for a query about the device that the argument names.
func (q *query) runsFor(
	cmd *cobra.Command, work func(context.Context, *client.Client, andon.DeviceID) error,
) *cobra.Command {
	return q.runs(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		id := andon.DeviceID(args[0])
		q.explainNone(ctx, c, id)
		return work(ctx, c, id)
	})
}

func show[T any](q *query, columns []command.Column[T], items iter.Seq2[T, error]) error {
	return command.Show(q.Program, q.Output, columns, items)
}

// readLooks reads symbols and colours of the tenant's states, for a table.
func (q *query) readLooks(ctx context.Context, c *client.Client) error {
	q.Looks.Now = q.Now()
	if !q.IsTable() {
		return nil
	}
	t, err := c.Tenant(ctx, andon.TenantID(q.Tenant))
	if err != nil {
		return err
	}
	q.Looks.States, err = andon.NewStateSet(t.States)
	return err
}

func (q *query) explainFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&q.explained, "explain", false,
		"print what the store sends to its engine, instead of the answer")
}

// showPlan prints what the store sends to its engine for the first request of work. The output of
// work is discarded.
func (q *query) showPlan(
	ctx context.Context, c *client.Client, work func(*client.Client) error,
) error {
	loud, silent := q.Program, *q.Program
	silent.Stdout, silent.Stderr = io.Discard, io.Discard
	q.Program = &silent
	steps, err := c.Explain(ctx, work)
	q.Program = loud
	if err != nil {
		return err
	}
	o := command.Output{Format: q.Format, All: true, None: func() string {
		return "the store answers without its engine"
	}}
	return command.Show(q.Program, &o, planColumns(), command.Each(steps))
}

// planColumns are the columns of a plan. A statement may be longer than a line, so it comes last in
// a table; it is never cut.
func planColumns() []command.Column[andon.PlanStep] {
	columns := command.Fields[andon.PlanStep]().Hidden("statement").
		Fields("partition", "consistency", "times", "rows", "scanned", "bytes", "units", "ms")
	return append(columns, command.Column[andon.PlanStep]{
		Name: "statement", Cell: func(_ command.Looks, s *andon.PlanStep) draw.Cell {
			return draw.Cell{Text: draw.Legible(s.Statement)}
		},
	})
}

// explainNone makes an empty list report that its device was never seen, or what unknownState
// returns. The user may have mistyped a name. Errors of these requests are ignored: the query
// itself was answered.
func (q *query) explainNone(ctx context.Context, c *client.Client, id andon.DeviceID) {
	q.None = func() string {
		if _, err := c.Device(ctx, id); err != nil {
			if e := command.NoDevice(err); e != nil {
				return draw.Legible(e.Detail)
			}
			return ""
		}
		return q.unknownState(ctx, c)
	}
}

// explainNoReadings is explainNone for readings, which a device may send without any event.
func (q *query) explainNoReadings(ctx context.Context, c *client.Client, id andon.DeviceID) {
	q.explainNone(ctx, c, id)
	why := q.None
	q.None = func() string {
		latest, _, err := c.LatestReadings(ctx, []andon.DeviceID{id})
		if err != nil || len(latest) > 0 {
			return ""
		}
		return why()
	}
}

// unknownState returns that --state names no state of the tenant, and which states it has.
func (q *query) unknownState(ctx context.Context, c *client.Client) string {
	filter, err := andon.ParseStateFilter(q.selected.State)
	if err != nil || filter.MatchesAll() {
		return ""
	}
	states, _, err := c.States(ctx)
	if err != nil {
		return ""
	}
	var names []andon.State
	prefix := ""
	for _, s := range states {
		if filter.Match(s.State) {
			return ""
		}
		if strings.HasPrefix(string(s.State), q.selected.State) {
			prefix = fmt.Sprintf("; %s selects all that begin with it",
				command.ShellWord(q.selected.State+"*"))
		}
		names = append(names, s.State)
	}
	const most = 20
	return fmt.Sprintf("the tenant has no state %s; it has %s%s",
		command.Quoted(q.selected.State), command.Few(names, most), prefix)
}
