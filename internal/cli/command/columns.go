package command

import (
	"bufio"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Columns are named as the fields of an item in JSON. A field within a field has a path, such as
// "retention.events"; the last part is the name of the column.
type Columns[T any] []Column[T]

// Fields are columns for tables and CSV. In a table, times have seconds only.
func Fields[T any](names ...string) Columns[T] { return Columns[T]{}.Fields(names...) }

// Fields adds such columns.
func (c Columns[T]) Fields(names ...string) Columns[T] {
	for _, name := range names {
		f := fieldOf[T](name)
		c = append(c, Column[T]{Name: f.name, Text: f.text, Cell: f.cell})
	}
	return c
}

// Hidden adds columns for CSV only.
func (c Columns[T]) Hidden(names ...string) Columns[T] {
	for _, name := range names {
		f := fieldOf[T](name)
		c = append(c, Column[T]{Name: f.name, Text: f.text})
	}
	return c
}

// Exact adds a time that identifies an entry: a table shows all its digits, too.
func (c Columns[T]) Exact(name string) Columns[T] {
	timeOf := timeOf[T](name)
	return append(c, Column[T]{
		Name: name, Text: fieldOf[T](name).text,
		Cell: func(_ Looks, item *T) draw.Cell {
			text := timeOf(item).Std().Format("2006-01-02 15:04:05.999999")
			return draw.Cell{Text: text, Whole: true}
		},
	})
}

// Age adds how long ago a time was, to tables only.
func (c Columns[T]) Age(heading, name string) Columns[T] {
	timeOf := timeOf[T](name)
	return append(c, Column[T]{Name: heading, Cell: func(l Looks, item *T) draw.Cell {
		return draw.Cell{Text: l.age(timeOf(item)), Right: true}
	}})
}

// Ago adds times; a table has how long ago each was next to it.
func (c Columns[T]) Ago(names ...string) Columns[T] {
	for _, name := range names {
		timeOf := timeOf[T](name)
		cell := func(l Looks, item *T) draw.Cell {
			if timeOf(item) == 0 {
				return draw.Cell{}
			}
			return draw.Cell{Text: draw.Clock(timeOf(item)) + "  " + l.Ago(timeOf(item))}
		}
		c = append(c, Column[T]{Name: name, Text: fieldOf[T](name).text, Cell: cell})
	}
	return c
}

// State adds the state, in a table with the symbol and colour that its tenant chose.
func (c Columns[T]) State() Columns[T] {
	text := fieldOf[T]("state").text
	return append(c, Column[T]{Name: "state", Text: text, Cell: func(l Looks, item *T) draw.Cell {
		return l.state(andon.State(text(item)))
	}})
}

// OrElse makes tables show a text in a column where it is empty.
func (c Columns[T]) OrElse(name, text string) Columns[T] {
	i := slices.IndexFunc(c, func(column Column[T]) bool { return column.Name == name })
	cell := c[i].Cell
	c[i].Cell = func(l Looks, item *T) draw.Cell {
		if shown := cell(l, item); shown.Text != "" {
			return shown
		}
		return draw.Cell{Text: text}
	}
	return c
}

func timeOf[T any](name string) func(*T) andon.Time {
	f := fieldOf[T](name)
	return func(item *T) andon.Time { return andon.Time(f.value(item).Int()) }
}

type field[T any] struct {
	name     string
	index    []int
	optional bool // JSON omits it if it is zero
	right    bool // it is a number
}

func fieldOf[T any](path string) field[T] {
	f, t := field[T]{}, reflect.TypeFor[T]()
	for f.name = range strings.SplitSeq(path, ".") {
		fields := reflect.VisibleFields(t)
		i := slices.IndexFunc(fields, func(s reflect.StructField) bool {
			name, option, _ := strings.Cut(s.Tag.Get("json"), ",")
			f.optional = option != ""
			return name == f.name
		})
		if i < 0 {
			panic(fmt.Sprintf("command: %s has no field %s", reflect.TypeFor[T](), path))
		}
		f.index, t = append(f.index, fields[i].Index...), fields[i].Type
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	f.right = t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 &&
		!t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
	return f
}

func (f *field[T]) value(item *T) reflect.Value {
	return reflect.ValueOf(item).Elem().FieldByIndex(f.index)
}

// text formats the field for CSV: as in JSON, without quotes; an absent field is empty.
func (f field[T]) text(item *T) string {
	v := f.value(item)
	switch x := v.Interface().(type) {
	case andon.Time:
		if x == 0 {
			return ""
		}
		return x.String()
	case []string:
		return strings.Join(x, ", ")
	}
	switch {
	case v.Kind() == reflect.String:
		return v.String()
	case f.optional && v.IsZero():
		return ""
	}
	text, plain := JSONText(v.Interface()), ""
	if json.Unmarshal([]byte(text), &plain) == nil {
		return plain
	}
	return text
}

func (f field[T]) cell(_ Looks, item *T) draw.Cell {
	if at, ok := f.value(item).Interface().(andon.Time); ok {
		return draw.Cell{Text: draw.Clock(at), Whole: true}
	}
	if x, ok := f.value(item).Interface().(float64); ok && (x != 0 || !f.optional) {
		return draw.Cell{Text: JSONText(math.Round(x*100) / 100), Right: true}
	}
	if f.right {
		return draw.Cell{Text: f.text(item), Right: true}
	}
	return draw.Cell{Text: draw.Legible(f.text(item))}
}

// EventColumns are the columns of events.
func EventColumns() Columns[andon.Event] { return EventFields[andon.Event]() }

// EventFields are EventColumns for a type that has the fields of an event.
func EventFields[T any]() Columns[T] {
	return Fields[T]("device").Exact("time").Age("age", "time").State().
		Fields("operator", "escalated_to", "message").Hidden("attributes")
}

// AssignmentColumns are the columns of assignments.
func AssignmentColumns() []Column[andon.Assignment] {
	columns := Fields[andon.Assignment]("device", "operator", "from", "to").
		OrElse("operator", "(nobody)").OrElse("to", "now")
	return append(columns, Column[andon.Assignment]{
		Name: "for", Cell: func(l Looks, a *andon.Assignment) draw.Cell {
			end := cmp.Or(a.To, l.Now)
			return draw.Cell{Text: draw.Age(end.Sub(a.From)), Right: true}
		},
	})
}

// ReadingColumns are the columns of readings: one for each of the metrics, or one for all if none
// is named.
func ReadingColumns(metrics []andon.MetricName) []Column[andon.Reading] {
	columns := Fields[andon.Reading]("device", "time").Age("age", "time")
	for _, name := range metrics {
		columns = append(columns, metricColumn(name))
	}
	if len(metrics) == 0 {
		columns = columns.Hidden("metrics")
		columns[len(columns)-1].Cell = func(_ Looks, r *andon.Reading) draw.Cell {
			return draw.Cell{Text: metricsShown(r.Metrics)}
		}
	}
	return columns.Hidden("metadata")
}

func metricColumn(name andon.MetricName) Column[andon.Reading] {
	text := func(r *andon.Reading) string {
		if x, ok := r.Metrics.Get(name); ok {
			return JSONText(x) // 1234567 and not 1.234567e+06
		}
		return ""
	}
	cell := func(_ Looks, r *andon.Reading) draw.Cell {
		return draw.Cell{Text: text(r), Right: true}
	}
	return Column[andon.Reading]{Name: string(name), Text: text, Cell: cell}
}

// JSONText returns a value as JSON, "" if it has no such form.
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
		parts[i] = draw.Legible(string(x.Name)) + "=" + JSONText(x.Value)
	}
	return strings.Join(parts, "  ")
}

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
}

const widestState = 24 // columns up to which a state is not cut

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
	s.out.Table(append([][]draw.Cell{header}, s.rows...))
	s.rows = s.rows[:0]
	return s.out.W.(*bufio.Writer).Flush() // if nobody reads on, no more pages are requested
}
