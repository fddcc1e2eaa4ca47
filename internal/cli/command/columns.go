package command

import (
	"encoding/json"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// EventColumns are those of events.
func EventColumns() []Column[andon.Event] {
	type event = andon.Event
	return []Column[event]{
		TextColumn("device", func(e *event) string { return string(e.Device) }),
		exactColumn("time", func(e *event) andon.Time { return e.Time }),
		AgeColumn("age", func(e *event) andon.Time { return e.Time }),
		StateColumn(func(e *event) andon.State { return e.State }),
		TextColumn("operator", func(e *event) string { return string(e.Operator) }),
		TextColumn("escalated_to", func(e *event) string { return string(e.EscalatedTo) }),
		TextColumn("message", func(e *event) string { return e.Message }),
		ProgramColumn("attributes", func(e *event) string { return string(e.Attributes) }),
	}
}

// UntilColumn is when something ended, or that it goes on.
func UntilColumn[T any](at func(*T) andon.Time) Column[T] {
	c := TimeColumn("to", at)
	c.Cell = func(_ Looks, item *T) draw.Cell {
		if at(item) == 0 {
			return draw.Cell{Text: "now"}
		}
		return draw.Cell{Text: draw.Clock(at(item))}
	}
	return c
}

// AssignmentColumns are those of who is assigned to a device.
func AssignmentColumns() []Column[client.Assignment] {
	type assignment = client.Assignment
	return []Column[assignment]{
		TextColumn("device", func(a *assignment) string { return string(a.Device) }),
		{
			Name: "operator",
			Text: func(a *assignment) string { return string(a.Operator) },
			Cell: func(l Looks, a *assignment) draw.Cell {
				if a.Operator == "" {
					return draw.Cell{Text: "(nobody)"}
				}
				return draw.Cell{Text: l.short(draw.Legible(string(a.Operator)))}
			},
		},
		TimeColumn("from", func(a *assignment) andon.Time { return a.From }),
		UntilColumn(func(a *assignment) andon.Time { return a.To }),
		{Name: "for", Cell: func(l Looks, a *assignment) draw.Cell {
			end := a.To
			if end == 0 {
				end = l.Now
			}
			return draw.Cell{Text: draw.Age(end.Sub(a.From)), Right: true}
		}},
	}
}

// ReadingColumns are those of readings: with metrics named each has one of its own, and else they
// share one.
func ReadingColumns(metrics []andon.MetricName) []Column[andon.Reading] {
	type reading = andon.Reading
	columns := []Column[reading]{
		TextColumn("device", func(r *reading) string { return string(r.Device) }),
		TimeColumn("time", func(r *reading) andon.Time { return r.Time }),
		AgeColumn("age", func(r *reading) andon.Time { return r.Time }),
	}
	for _, name := range metrics {
		columns = append(columns, metricColumn(name))
	}
	if len(metrics) == 0 {
		columns = append(columns, Column[reading]{
			Name: "metrics",
			Text: func(r *reading) string { return JSONText(r.Metrics) },
			Cell: func(_ Looks, r *reading) draw.Cell {
				return draw.Cell{Text: metricsShown(r.Metrics)}
			},
		})
	}
	return append(columns,
		ProgramColumn("metadata", func(r *reading) string { return string(r.Metadata) }))
}

func metricColumn(name andon.MetricName) Column[andon.Reading] {
	return NumberColumn(string(name), func(r *andon.Reading) string {
		if x, ok := r.Metrics.Get(name); ok {
			return NumberText(x)
		}
		return ""
	})
}

// JSONText is a value as JSON; what can't be written so is empty.
func JSONText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

func metricsShown(m andon.Metrics) string {
	parts := make([]string, len(m))
	for i, x := range m {
		parts[i] = draw.Legible(string(x.Name)) + "=" + NumberText(x.Value)
	}
	return strings.Join(parts, "  ")
}
