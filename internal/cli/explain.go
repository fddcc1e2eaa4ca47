package cli

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
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
	loud, silent := q.program, *q.program
	silent.stdout, silent.stderr = io.Discard, io.Discard
	q.program = &silent
	steps, err := c.Explain(ctx, work)
	q.program = loud
	if err != nil {
		return err
	}
	shown := make([]planStep, len(steps))
	for i, s := range steps {
		shown[i] = planStep{s, float64(s.Took) / float64(time.Millisecond)}
	}
	o := output{format: q.format, all: true, none: func() string {
		return "the store answers without asking its engine"
	}}
	return show(q.program, &o, planColumns(), each(shown))
}

// planColumns are those of a plan. A statement is longer than a line and would push all else out of
// sight, so people see it last; it is never cut, since half of it says nothing.
func planColumns() []column[planStep] {
	type step = planStep
	return []column[step]{
		programColumn("statement", func(s *step) string { return s.Statement }),
		textColumn("partition", func(s *step) string { return strings.Join(s.Partition, ", ") }),
		textColumn("consistency", func(s *step) string { return s.Consistency }),
		figureColumn("times", func(s *step) string { return strconv.Itoa(s.Times) }),
		figureColumn("rows", func(s *step) string { return strconv.Itoa(s.Rows) }),
		figureColumn("ms", func(s *step) string {
			return strconv.FormatFloat(s.MS, 'f', -1, 64)
		}),
		{name: "statement", cell: func(_ looks, s *step) cell {
			return cell{text: legible(s.Statement)}
		}},
	}
}

// figureColumn is a textColumn of numbers.
func figureColumn[T any](name string, text func(*T) string) column[T] {
	c := textColumn(name, text)
	c.cell = func(_ looks, item *T) cell { return cell{text: text(item), right: true} }
	return c
}
