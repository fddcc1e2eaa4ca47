// Package query is the command "query": what devices show now, and what was.
package query

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// Command is "andon query".
func Command(p *command.Program) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "query",
		Short: "Ask what devices show now, and what was",
		Long: `Ask a server what devices show now, what was, and who answers for it. Each question
has a subcommand, and its flags are named as the parameters of the HTTP API.

On a terminal the answer is a table, elsewhere JSON, an object a line; --output table|json|csv
chooses. Colours are those of the tenant's states; NO_COLOR takes them away.

With --explain the answer is what the store sends to its engine for the question, with the figures
of having been asked; a store that can't say, as one without an engine, says that.

With --consistency eventual the answer may be a moment behind, where that costs the store less, as
on DynamoDB; with strong it has all that was acknowledged before, or is refused where the store
can't promise that. Without it the store's own setting decides.

An empty answer is an answer: the exit code is 0. Where there is nothing because the device was
never seen, or because no state is so named, standard error says so.`,
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
	command.Target
	command.Output
	selected  client.Query
	order     *command.Choice // nil where there is none
	freshness *command.Choice // how fresh the answer must be; empty: as the store is set
	explained bool            // what the store sends to its engine is asked for, not the answer
}

type question struct {
	use, short, long, example string
}

// newQuery makes the subcommand of a question, with the flags that all of them have.
func newQuery(p *command.Program, ask question) (*query, *cobra.Command) {
	q := &query{Program: p, Target: p.NewTarget(), Output: command.Output{All: true}}
	cmd := &cobra.Command{Use: ask.use, Short: ask.short, Long: ask.long, Example: ask.example}
	q.Flags(cmd)
	q.FormatFlag(cmd)
	q.explainFlag(cmd)
	q.freshness = command.ChoiceFlag(cmd, "consistency", "",
		"an answer that has all that was acknowledged before (strong), or one that may be a "+
			"moment behind and costs some stores half (eventual)", "strong", "eventual")
	return q, cmd
}

// newList is newQuery for a question whose answer may be long.
func newList(p *command.Program, ask question) (*query, *cobra.Command) {
	q, cmd := newQuery(p, ask)
	q.All = false
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

// selectFlags gives a question the flags of a list by time.
func (q *query) selectFlags(cmd *cobra.Command) {
	q.SpanFlags(cmd, &q.selected.From, &q.selected.To)
	q.orderFlag(cmd)
}

// asks makes a function the work of a question.
func (q *query) asks(
	cmd *cobra.Command, work func(context.Context, *client.Client, []string) error,
) *cobra.Command {
	cmd.RunE = q.Does(func(ctx context.Context, args []string) error {
		if err := q.Complete(q.Program); err != nil {
			return err
		}
		q.selected.Page = q.Page()
		if q.order != nil && q.order.Value == "asc" {
			q.selected.Order = andon.Asc
		}
		freshness, err := andon.ParseConsistency(q.freshness.Value)
		if err != nil {
			return err
		}
		return q.Ask(ctx, func(c *client.Client) error {
			c = c.At(freshness)
			if q.explained {
				return q.showPlan(ctx, c, func(c *client.Client) error {
					return work(ctx, c, args)
				})
			}
			if err := q.learnLooks(ctx, c); err != nil {
				return err
			}
			q.None = func() string { return q.strangeState(ctx, c) }
			return work(ctx, c, args)
		})
	})
	return cmd
}

// asksOf is asks for a question about the device that the argument names.
func (q *query) asksOf(
	cmd *cobra.Command, work func(context.Context, *client.Client, andon.DeviceID) error,
) *cobra.Command {
	return q.asks(cmd, func(ctx context.Context, c *client.Client, args []string) error {
		id, err := command.DeviceArg(args[0])
		if err != nil {
			return err
		}
		q.ofDevice(ctx, c, id)
		return work(ctx, c, id)
	})
}

func show[T any](q *query, columns []command.Column[T], items iter.Seq2[T, error]) error {
	return command.Show(q.Program, &q.Output, columns, items)
}

// learnLooks asks how the tenant's states look, where a person will see them.
func (q *query) learnLooks(ctx context.Context, c *client.Client) error {
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
