package query

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

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
