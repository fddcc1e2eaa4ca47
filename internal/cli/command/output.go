package command

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/sheet"
)

// Output has the options for printing an answer.
type Output struct {
	Format *Choice // "" before the command runs
	limit  int     // items at most
	All    bool    // without a limit
	Looks  Looks
	None   func() string // returns why the list is empty; called only then; may be nil
}

// NewOutput gives a command the flag that chooses the format of an answer without a limit. The flag
// is checked before the command runs, as is --limit.
func (p *Program) NewOutput(cmd *cobra.Command) *Output {
	o := &Output{All: true}
	cmd.PreRunE = func(*cobra.Command, []string) error { return o.complete(p) }
	o.Format = OutputFlag(cmd, "",
		"output format (default table on a terminal, else json: one object a line)",
		FormatTable, FormatJSON, FormatCSV)
	return o
}

// LimitFlags adds --limit and --all: then there is a limit unless the user wants none.
func (o *Output) LimitFlags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&o.limit, "limit", andon.DefaultLimit, "`number` of items at most")
	cmd.Flags().BoolVar(&o.All, "all", false, "without a limit")
	cmd.MarkFlagsMutuallyExclusive("limit", "all")
}

func (o *Output) complete(p *Program) error {
	if o.Format.Value == "" {
		o.Format.Value = FormatJSON
		if draw.IsTerminal(p.Stdout) {
			o.Format.Value = FormatTable
		}
	}
	if o.limit < 1 && !o.All {
		return andon.Errorf(andon.Invalid, "--limit %d is less than 1; --all is without a limit",
			o.limit)
	}
	return nil
}

// IsTable reports whether the output is a table.
func (o *Output) IsTable() bool { return o.Format.Value == FormatTable }

// Page returns the size of the pages to request: one more than the limit shows whether there are
// more items.
func (o *Output) Page() int {
	if o.All {
		return andon.MaxLimit
	}
	return min(o.limit+1, andon.MaxLimit)
}

// Sink writes items in one format.
type Sink[T any] interface {
	Put(*T) error
	// End writes what is buffered.
	End() error
}

// NewSink returns the sink of a format.
func NewSink[T any](
	format string, w io.Writer, columns []Column[T], out draw.Printer, looks Looks,
) Sink[T] {
	switch format {
	case FormatCSV:
		return NewCSVSink(w, columns, sheet.Cell)
	case FormatTable:
		return &tableSink[T]{out: out, looks: looks, columns: columns}
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return SinkFunc[T](func(item *T) error { return encoder.Encode(item) })
}

// SinkFunc is a Sink that buffers nothing.
type SinkFunc[T any] func(*T) error

// Put implements Sink.
func (f SinkFunc[T]) Put(item *T) error { return f(item) }

// End implements Sink.
func (SinkFunc[T]) End() error { return nil }

type csvSink[T any] struct {
	w       *csv.Writer
	columns []Column[T]
	row     []string
	cell    func(string) string
}

// NewCSVSink returns a sink that writes CSV, the names of the columns first. cell makes a cell of a
// text.
func NewCSVSink[T any](
	w io.Writer, columns []Column[T], cell func(string) string,
) *csvSink[T] {
	s := &csvSink[T]{w: csv.NewWriter(w), cell: cell}
	for _, c := range columns {
		if c.Text != nil {
			s.columns, s.row = append(s.columns, c), append(s.row, cell(c.Name))
		}
	}
	_ = s.w.Write(s.row) // an error is that of Flush, too
	return s
}

func (s *csvSink[T]) Put(item *T) error {
	for i, c := range s.columns {
		s.row[i] = s.cell(c.Text(item))
	}
	return s.w.Write(s.row)
}

func (s *csvSink[T]) End() error {
	s.w.Flush()
	return s.w.Error()
}

// Show prints the items of a list up to the limit.
func Show[T any](p *Program, o *Output, columns []Column[T], items iter.Seq2[T, error]) error {
	w := bufio.NewWriter(p.Stdout)
	out := p.Printer()
	out.W = w
	s := NewSink(o.Format.Value, w, columns, out, o.Looks)
	shown, more, err := pour(s, o, items)
	err = errors.Join(err, s.End(), w.Flush())
	switch {
	case errors.Is(err, syscall.EPIPE): // the reader ended ("| head")
		return nil
	case err != nil:
		return err
	case more:
		fmt.Fprintf(p.Stderr,
			"There are more than these %d: --limit N shows more, --all shows all.\n", shown)
	case shown == 0:
		o.reportNone(p.Stderr)
	}
	return nil
}

// reportNone prints that the list is empty, and why. Without a reason it prints it for people only.
func (o *Output) reportNone(w io.Writer) {
	why := ""
	if o.None != nil {
		why = o.None()
	}
	switch {
	case why != "":
		fmt.Fprintf(w, "There is none: %s.\n", why)
	case o.IsTable():
		fmt.Fprintln(w, "There is none.")
	}
}

func pour[T any](
	s Sink[T], o *Output, items iter.Seq2[T, error],
) (shown int, more bool, err error) {
	for item, err := range items {
		if err != nil {
			return shown, false, err
		}
		if !o.All && shown == o.limit {
			return shown, true, nil
		}
		if err := s.Put(&item); err != nil {
			return shown, false, err
		}
		shown++
	}
	return shown, false, nil
}

// ShowOne prints one item. A table has one row for each field.
func ShowOne[T any](p *Program, o *Output, columns []Column[T], item T) error {
	if !o.IsTable() {
		w := bufio.NewWriter(p.Stdout)
		s := NewSink(o.Format.Value, w, columns, draw.Printer{}, o.Looks)
		return errors.Join(s.Put(&item), s.End(), w.Flush())
	}
	var rows [][]draw.Cell
	for _, c := range columns {
		if c.Cell == nil {
			continue
		}
		if shown := c.Cell(o.Looks, &item); shown.Text != "" {
			shown.Right, shown.Whole = false, true // it has a line of its own
			rows = append(rows, []draw.Cell{{Text: c.title()}, shown})
		}
	}
	p.Printer().Table(rows)
	return nil
}

// Each returns the items of a slice as a list.
func Each[T any](items []T) iter.Seq2[T, error] {
	return seq.List(func() ([]T, error) { return items, nil })
}

// Records returns each escalation of some entries. order is that of the escalations of one entry.
func Records(
	entries iter.Seq2[client.Entry, error], order andon.Order,
) iter.Seq2[andon.Escalation, error] {
	return seq.Join(entries, func(e client.Entry) iter.Seq2[andon.Escalation, error] {
		if order == andon.Asc {
			slices.Reverse(e.Escalations)
		}
		return seq.Map(Each(e.Escalations), func(r client.Record) andon.Escalation {
			return andon.Escalation{
				Device: e.Device, Time: e.Time, State: e.State,
				To: r.To, At: r.At, By: r.By, Note: r.Note,
			}
		})
	})
}
