package command

import (
	"bufio"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Column is one field of an item, for tables and for CSV.
type Column[T any] struct {
	Name string                    // as in JSON: "escalated_to"
	Text func(*T) string           // for CSV; nil: in tables only
	Cell func(Looks, *T) draw.Cell // for tables; nil: in CSV only
}

func (c *Column[T]) title() string {
	return strings.ToUpper(strings.ReplaceAll(c.Name, "_", " "))
}

// Looks is what a table needs besides the items.
type Looks struct {
	Now    andon.Time
	States *andon.StateSet
	width  int  // of the terminal; 0: no terminal
	brief  bool // cut long texts, so that a terminal shows the columns after them
}

// short cuts a text on a terminal. Text in a file or a pipe is never cut.
func (l Looks) short(text string) string {
	if l.brief {
		return draw.Clip(text, WidestCell)
	}
	return text
}

// Limits of width.
const (
	WidestCell  = 60 // columns
	widestState = 24 // columns up to which a state is not cut
)

func (l Looks) state(name andon.State) draw.Cell {
	look := l.States.Look(name)
	text := look.Symbol + " " + draw.Legible(string(name))
	return draw.Cell{Text: text, Colour: look.Colour, Whole: draw.ColumnsOf(text) <= widestState}
}

// age returns how long ago a time was, negative for a time in the future.
func (l Looks) age(at andon.Time) string {
	switch {
	case at == 0:
		return ""
	case at > l.Now:
		return "-" + draw.Age(at.Sub(l.Now))
	}
	return draw.Age(l.Now.Sub(at))
}

// Ago returns age in words.
func (l Looks) Ago(at andon.Time) string {
	if at > l.Now {
		return "in " + draw.Age(at.Sub(l.Now))
	}
	return draw.Age(l.Now.Sub(at)) + " ago"
}

// timeText formats a time for CSV; 0 is empty.
func timeText(at andon.Time) string {
	if at == 0 {
		return ""
	}
	return at.String()
}

// TimeShown formats a time for a table; 0 is empty.
func TimeShown(at andon.Time) string {
	if at == 0 {
		return ""
	}
	return draw.Clock(at)
}

// tableSink prints a table. It buffers rows to find the widths of columns; a long list is printed
// in parts with a header each.
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
	return s.out.W.(*bufio.Writer).Flush() // if nobody reads on, no more pages are requested
}
