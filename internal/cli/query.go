package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/spell"
)

func (p *program) queryCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "query",
		Short: "Ask what devices show now, and what was",
		Long: `Ask a server what devices show now, what was, and who answers for it. Each question
has a subcommand, and its flags are named as the parameters of the HTTP API.

On a terminal the answer is a table, elsewhere JSON, an object a line; --output table|json|csv
chooses. Colours are those of the tenant's states; NO_COLOR takes them away.`,
		Example: `  andon query devices --state 'WARNING*' --sort severity
  andon query device press-7
  andon query events press-7 --from 2020-04-24 --output csv
  andon query operator Liz --state 'WARNING*' --limit 10`,
	})
	cmd.AddCommand(
		p.queryDevice(), p.queryDevices(), p.queryStates(), p.queryEvents(), p.queryEntry(),
		p.queryOperator(), p.querySupervisor(), p.queryIntervals(), p.queryAssignments(),
		p.queryReadings(), p.queryLatest(), p.queryMetric(),
	)
	return cmd
}

// group makes a command that does nothing but hold others. Cobra would take a misspelt one for an
// argument and print the help, and refuse the flags that were meant for it first.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.DisableFlagParsing = true
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
			return nil
		}
		var known []string
		for _, sub := range cmd.Commands() {
			known = append(known, sub.Name())
		}
		if near := spell.Nearest(args[0], known); near != "" {
			return fmt.Errorf("unknown command %q; did you mean %s?", args[0], near)
		}
		return fmt.Errorf("unknown command %q: there are %s", args[0], strings.Join(known, ", "))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// query is one question, and how its answer is printed.
type query struct {
	*program
	target
	output
	selected client.Query
	order    *choice // nil where there is none
}

// question is what a subcommand of query is made of.
type question struct {
	use, short, long, example string
	args                      cobra.PositionalArgs
}

// newQuery makes the subcommand of a question, with the flags that all of them have.
func (p *program) newQuery(ask question) (*query, *cobra.Command) {
	q := &query{program: p, target: p.newTarget(), output: output{all: true}}
	cmd := &cobra.Command{
		Use: ask.use, Short: ask.short, Long: ask.long, Example: ask.example, Args: ask.args,
	}
	cmd.Flags().SortFlags = false
	q.serverFlags(cmd)
	q.tenantFlag(cmd)
	q.formatFlag(cmd)
	return q, cmd
}

// newList is newQuery for a question whose answer may be long.
func (p *program) newList(ask question) (*query, *cobra.Command) {
	q, cmd := p.newQuery(ask)
	q.all = false
	q.limitFlags(cmd)
	return q, cmd
}

func (q *query) stateFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&q.selected.State, "state", "",
		"only this state, several joined by commas, or a prefix: 'WARNING*'")
}

func (q *query) orderFlag(cmd *cobra.Command) {
	q.order = choiceFlag(cmd, "order", "desc", "newest first (desc) or oldest first (asc)",
		"desc", "asc")
}

// selectFlags gives a question the flags of a list by time.
func (q *query) selectFlags(cmd *cobra.Command) {
	spanFlags(cmd, &q.selected.From, &q.selected.To)
	q.orderFlag(cmd)
}

// asks makes a function the work of a question.
func (q *query) asks(
	cmd *cobra.Command, work func(context.Context, *client.Client, []string) error,
) *cobra.Command {
	cmd.RunE = q.does(func(ctx context.Context, args []string) error {
		if err := q.settle(q.program); err != nil {
			return err
		}
		q.selected.Page = q.page()
		if q.order != nil && q.order.value == "asc" {
			q.selected.Order = andon.Asc
		}
		return q.ask(ctx, func(c *client.Client) error {
			if err := q.learnLooks(ctx, c); err != nil {
				return err
			}
			return work(ctx, c, args)
		})
	})
	return cmd
}

// learnLooks asks how the tenant's states look, where a person will see them.
func (q *query) learnLooks(ctx context.Context, c *client.Client) error {
	q.looks.now = q.now()
	if !q.isTable() {
		return nil
	}
	t, err := c.Tenant(ctx, andon.TenantID(q.tenant))
	if err != nil {
		return err
	}
	q.looks.states, err = andon.NewStateSet(t.States)
	return err
}
