package cli

import (
	"bufio"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/andonhq/andon"
)

// column is one field of an item: how a person sees it, and how a program reads it.
type column[T any] struct {
	name string               // as in JSON: "escalated_to"
	text func(*T) string      // for CSV; nil: only people see the column
	cell func(looks, *T) cell // for a table; nil: only programs see it
}

// title is the name as the heading of a column.
func (c *column[T]) title() string {
	return strings.ToUpper(strings.ReplaceAll(c.name, "_", " "))
}

// textColumn is a column that people and programs see alike.
func textColumn[T any](name string, text func(*T) string) column[T] {
	return column[T]{name: name, text: text, cell: func(l looks, item *T) cell {
		return cell{text: l.short(legible(text(item)))}
	}}
}

// timeColumn is a time: of the second for people, whole for programs.
func timeColumn[T any](name string, at func(*T) andon.Time) column[T] {
	return column[T]{
		name: name,
		text: func(item *T) string { return timeText(at(item)) },
		cell: func(_ looks, item *T) cell { return cell{text: timeShown(at(item)), whole: true} },
	}
}

// exactColumn is a time that names an entry, so that people see all of it, too.
func exactColumn[T any](name string, at func(*T) andon.Time) column[T] {
	c := timeColumn(name, at)
	c.cell = func(_ looks, item *T) cell {
		return cell{text: at(item).Std().Format("2006-01-02 15:04:05.999999"), whole: true}
	}
	return c
}

// ageColumn is how long ago a time was; programs can work it out.
func ageColumn[T any](name string, at func(*T) andon.Time) column[T] {
	return column[T]{name: name, cell: func(l looks, item *T) cell {
		return cell{text: l.age(at(item)), right: true}
	}}
}

// stateColumn is a state as its tenant wants it to look.
func stateColumn[T any](name func(*T) andon.State) column[T] {
	return column[T]{
		name: "state",
		text: func(item *T) string { return string(name(item)) },
		cell: func(l looks, item *T) cell { return l.state(name(item)) },
	}
}

// programColumn is a column that only programs see.
func programColumn[T any](name string, text func(*T) string) column[T] {
	return column[T]{name: name, text: text}
}

// looks is what a table needs to know beside the items.
type looks struct {
	now    andon.Time
	states *andon.StateSet
	width  int  // of the terminal; 0: there is none
	brief  bool // long texts are cut: on a terminal the columns behind them shall be seen
}

// short cuts a text where all are to be brief. What goes into a file or a pipe is never cut.
func (l looks) short(text string) string {
	if l.brief {
		return clip(text, widestCell)
	}
	return text
}

const (
	widestCell  = 60 // columns
	widestState = 24 // columns that a state is shown whole in
)

func (l looks) state(name andon.State) cell {
	look := l.states.Look(name)
	text := look.Symbol + " " + legible(string(name))
	return cell{text: text, colour: look.Colour, whole: columnsOf(text) <= widestState}
}

// age is how long ago a time was; one to come has a sign.
func (l looks) age(at andon.Time) string {
	switch {
	case at == 0:
		return ""
	case at > l.now:
		return "-" + age(at.Sub(l.now))
	}
	return age(l.now.Sub(at))
}

// ago is age in words.
func (l looks) ago(at andon.Time) string {
	if at > l.now {
		return "in " + age(at.Sub(l.now))
	}
	return age(l.now.Sub(at)) + " ago"
}

// timeText is a time for a program; absent is empty.
func timeText(at andon.Time) string {
	if at == 0 {
		return ""
	}
	return at.String()
}

func timeShown(at andon.Time) string {
	if at == 0 {
		return ""
	}
	return clock(at)
}

func numberText(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// legible makes a text fit for a cell. What a device sends may hold anything: an escape sequence
// must not reach the terminal, nor may marks of direction swap what stands around them.
func legible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			return utf8.RuneError
		}
		return r
	}, text)
}

// tableSink prints rows below each other. It holds some back to see how wide they are; of a long
// list each part has a heading of its own.
type tableSink[T any] struct {
	page    page // on a bufio.Writer
	looks   looks
	columns []column[T]
	rows    [][]cell
}

const tablePart = 1000 // rows

func (s *tableSink[T]) put(item *T) error {
	if len(s.rows) == tablePart {
		if err := s.end(); err != nil {
			return err
		}
	}
	row := make([]cell, 0, len(s.columns))
	for _, c := range s.columns {
		if c.cell != nil {
			row = append(row, c.cell(s.looks, item))
		}
	}
	s.rows = append(s.rows, row)
	return nil
}

func (s *tableSink[T]) end() error {
	if len(s.rows) == 0 {
		return nil
	}
	var header []cell
	for _, c := range s.columns {
		if c.cell != nil {
			header = append(header, cell{text: c.title(), right: s.rows[0][len(header)].right})
		}
	}
	rows := append([][]cell{header}, s.rows...)
	if s.looks.width > 0 {
		narrow(rows, s.looks.width)
	}
	s.page.table(rows)
	s.rows = s.rows[:0]
	return s.page.w.(*bufio.Writer).Flush() // where nobody reads on, asking on is in vain
}
