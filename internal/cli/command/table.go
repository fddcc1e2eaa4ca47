package command

import (
	"bufio"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Column is one field of an item: how a person sees it, and how a program reads it.
type Column[T any] struct {
	Name string                    // as in JSON: "escalated_to"
	Text func(*T) string           // for CSV; nil: only people see the column
	Cell func(Looks, *T) draw.Cell // for a table; nil: only programs see it
}

// title is the name as the heading of a column.
func (c *Column[T]) title() string {
	return strings.ToUpper(strings.ReplaceAll(c.Name, "_", " "))
}

// Looks is what a table needs to know beside the items.
type Looks struct {
	Now    andon.Time
	States *andon.StateSet
	width  int  // of the terminal; 0: there is none
	brief  bool // long texts are cut: on a terminal the columns behind them shall be seen
}

// short cuts a text where all are to be brief. What goes into a file or a pipe is never cut.
func (l Looks) short(text string) string {
	if l.brief {
		return draw.Clip(text, WidestCell)
	}
	return text
}

// How wide texts may be.
const (
	WidestCell  = 60 // columns
	widestState = 24 // columns that a state is shown whole in
)

func (l Looks) state(name andon.State) draw.Cell {
	look := l.States.Look(name)
	text := look.Symbol + " " + draw.Legible(string(name))
	return draw.Cell{Text: text, Colour: look.Colour, Whole: draw.ColumnsOf(text) <= widestState}
}

// age is how long ago a time was; one to come has a sign.
func (l Looks) age(at andon.Time) string {
	switch {
	case at == 0:
		return ""
	case at > l.Now:
		return "-" + draw.Age(at.Sub(l.Now))
	}
	return draw.Age(l.Now.Sub(at))
}

// Ago is age in words.
func (l Looks) Ago(at andon.Time) string {
	if at > l.Now {
		return "in " + draw.Age(at.Sub(l.Now))
	}
	return draw.Age(l.Now.Sub(at)) + " ago"
}

// timeText is a time for a program; absent is empty.
func timeText(at andon.Time) string {
	if at == 0 {
		return ""
	}
	return at.String()
}

// TimeShown is a time for a person; absent is empty.
func TimeShown(at andon.Time) string {
	if at == 0 {
		return ""
	}
	return draw.Clock(at)
}

// tableSink prints rows below each other. It holds some back to see how wide they are; of a long
// list each part has a heading of its own.
type tableSink[T any] struct {
	out     draw.Printer // on a bufio.Writer
	looks   Looks
	columns []Column[T]
	rows    [][]draw.Cell
}

const tablePart = 1000 // rows

func (s *tableSink[T]) Put(item *T) error {
	if len(s.rows) == tablePart {
		if err := s.End(); err != nil {
			return err
		}
	}
	row := make([]draw.Cell, 0, len(s.columns))
	for _, c := range s.columns {
		if c.Cell != nil {
			row = append(row, c.Cell(s.looks, item))
		}
	}
	s.rows = append(s.rows, row)
	return nil
}

func (s *tableSink[T]) End() error {
	if len(s.rows) == 0 {
		return nil
	}
	var header []draw.Cell
	for _, c := range s.columns {
		if c.Cell != nil {
			header = append(header, draw.Cell{Text: c.title(), Right: s.rows[0][len(header)].Right})
		}
	}
	rows := append([][]draw.Cell{header}, s.rows...)
	if s.looks.width > 0 {
		draw.Narrow(rows, s.looks.width)
	}
	s.out.Table(rows)
	s.rows = s.rows[:0]
	return s.out.W.(*bufio.Writer).Flush() // where no one reads on, asking on is in vain
}
