package query

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// With --explain a question is answered with what the store sent to its engine for it.

func (q *query) explainFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&q.explained, "explain", false,
		"print not the answer but what the store sends to its engine for it")
}

// planStep is one statement with its time in the unit that it is shown in.
type planStep struct {
	andon.PlanStep
	MS float64 `json:"ms"`
}

// showPlan prints what the store sends to its engine for the first request of work. What work would
// print goes nowhere: there is no answer.
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
	shown := make([]planStep, len(steps))
	for i, s := range steps {
		shown[i] = planStep{s, float64(s.Took) / float64(time.Millisecond)}
	}
	o := command.Output{Format: q.Format, All: true, None: func() string {
		return "the store answers without asking its engine"
	}}
	return command.Show(q.Program, &o, planColumns(), command.Each(shown))
}

// planColumns are those of a plan. A statement is longer than a line and would push all else out of
// sight, so people see it last; it is never cut, since half of it says nothing.
func planColumns() []command.Column[planStep] {
	type step = planStep
	return []command.Column[step]{
		command.ProgramColumn("statement", func(s *step) string { return s.Statement }),
		command.TextColumn("partition",
			func(s *step) string { return strings.Join(s.Partition, ", ") }),
		command.TextColumn("consistency", func(s *step) string { return s.Consistency }),
		command.NumberColumn("times", func(s *step) string { return strconv.Itoa(s.Times) }),
		command.NumberColumn("rows", func(s *step) string { return strconv.Itoa(s.Rows) }),
		command.NumberColumn("scanned", func(s *step) string {
			return unlessZero(float64(s.Scanned))
		}),
		command.NumberColumn("units", func(s *step) string { return unlessZero(s.Units) }),
		command.NumberColumn("ms", func(s *step) string {
			return strconv.FormatFloat(s.MS, 'f', -1, 64)
		}),
		{Name: "statement", Cell: func(_ command.Looks, s *step) draw.Cell {
			return draw.Cell{Text: draw.Legible(s.Statement)}
		}},
	}
}

// unlessZero leaves out what an engine does not say.
func unlessZero(n float64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}
