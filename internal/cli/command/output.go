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
)

// Output is how an answer is printed.
type Output struct {
	Format *Choice // "" until it is known whether a person looks
	limit  int     // at most so many items
	All    bool    // without a limit
	Looks  Looks
	None   func() string // why there is nothing to show, asked only then; may be nil
}

// FormatFlag gives a command the flag that chooses the format.
func (o *Output) FormatFlag(cmd *cobra.Command) {
	o.Format = OutputFlag(cmd, "",
		"form of the answer (default table on a terminal, else json: an object a line)",
		FormatTable, FormatJSON, FormatCSV)
}

// LimitFlags gives a command --limit and --all.
func (o *Output) LimitFlags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&o.limit, "limit", andon.DefaultLimit, "`number` of items at most")
	cmd.Flags().BoolVar(&o.All, "all", false, "without a limit")
	cmd.MarkFlagsMutuallyExclusive("limit", "all")
}

// Complete fills in what depends on where the answer goes, and checks the rest.
func (o *Output) Complete(p *Program) error {
	if o.Format.Value == "" {
		o.Format.Value = FormatJSON
		if draw.IsTerminal(p.Stdout) {
			o.Format.Value = FormatTable
		}
	}
	if o.Looks.brief = draw.IsTerminal(p.Stdout); o.Looks.brief {
		o.Looks.width, _ = draw.SizeOf(p.Stdout)
	}
	if o.limit < 1 && !o.All {
		return andon.Errorf(andon.Invalid, "--limit %d is less than 1; --all is without a limit",
			o.limit)
	}
	return nil
}

// IsTable reports whether a person reads the answer.
func (o *Output) IsTable() bool { return o.Format.Value == FormatTable }

// Page is how many items to ask the server for at once: one more than are shown, to know whether
// there are more.
func (o *Output) Page() int {
	if o.All {
		return andon.MaxLimit
	}
	return min(o.limit+1, andon.MaxLimit)
}

// Sink takes items in one format.
type Sink[T any] interface {
	Put(*T) error
	// end writes what is still held back.
	End() error
}

// NewSink makes the sink of a format; header says whether CSV begins with the names of its columns.
func NewSink[T any](
	format string, w io.Writer, columns []Column[T], out draw.Printer, looks Looks, header bool,
) Sink[T] {
	switch format {
	case FormatCSV:
		return NewCSVSink(w, columns, header)
	case FormatTable:
		return &tableSink[T]{out: out, looks: looks, columns: columns}
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return jsonSink[T]{encoder}
}

// jsonSink writes an object a line.
type jsonSink[T any] struct{ encoder *json.Encoder }

func (s jsonSink[T]) Put(item *T) error { return s.encoder.Encode(item) }

func (s jsonSink[T]) End() error { return nil }

// csvSink writes a row an item.
type csvSink[T any] struct {
	w       *csv.Writer
	columns []Column[T]
	row     []string
	header  bool // still to be written
}

// NewCSVSink makes the sink of CSV; header says whether it begins with the names of its columns.
func NewCSVSink[T any](w io.Writer, columns []Column[T], header bool) *csvSink[T] {
	s := &csvSink[T]{w: csv.NewWriter(w), header: header}
	for _, c := range columns {
		if c.Text != nil {
			s.columns = append(s.columns, c)
		}
	}
	s.row = make([]string, len(s.columns))
	return s
}

func (s *csvSink[T]) Put(item *T) error {
	if err := s.writeHeader(); err != nil {
		return err
	}
	for i, c := range s.columns {
		s.row[i] = c.Text(item)
	}
	return s.w.Write(s.row)
}

func (s *csvSink[T]) writeHeader() error {
	if !s.header {
		return nil
	}
	s.header = false
	for i, c := range s.columns {
		s.row[i] = c.Name
	}
	return s.w.Write(s.row)
}

func (s *csvSink[T]) End() error {
	err := s.writeHeader() // also where there was no item
	s.w.Flush()
	return errors.Join(err, s.w.Error())
}

// Show prints the items of a list, as many as were asked for.
func Show[T any](p *Program, o *Output, columns []Column[T], items iter.Seq2[T, error]) error {
	w := bufio.NewWriter(p.Stdout)
	out := p.Printer()
	out.W = w
	s := NewSink(o.Format.Value, w, columns, out, o.Looks, true)
	shown, more, err := pour(s, o, items)
	err = errors.Join(err, s.End(), w.Flush())
	switch {
	case errors.Is(err, syscall.EPIPE): // the reader has seen enough ("| head")
		return nil
	case err != nil:
		return err
	case more:
		fmt.Fprintf(p.Stderr,
			"There are more than these %d: --limit N shows more, --all shows all.\n", shown)
	case shown == 0:
		o.tellNone(p.Stderr)
	}
	return nil
}

// tellNone says that there is nothing, and why. A program that got nothing is told only the latter.
func (o *Output) tellNone(w io.Writer) {
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

// ShowOne prints one item: as a table its fields stand below each other.
func ShowOne[T any](p *Program, o *Output, columns []Column[T], item T) error {
	if !o.IsTable() {
		w := bufio.NewWriter(p.Stdout)
		s := NewSink(o.Format.Value, w, columns, draw.Printer{}, o.Looks, true)
		return errors.Join(s.Put(&item), s.End(), w.Flush())
	}
	looks := o.Looks
	looks.brief = false // fields that stand below each other have room
	var rows [][]draw.Cell
	for _, c := range columns {
		if c.Cell == nil {
			continue
		}
		if shown := c.Cell(looks, &item); shown.Text != "" {
			shown.Right = false
			rows = append(rows, []draw.Cell{{Text: c.title()}, shown})
		}
	}
	p.Printer().Table(rows)
	return nil
}

// Each makes a sequence of a slice.
func Each[T any](items []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// Records gives each record of some entries with its entry; order is that of an entry's records.
func Records(
	entries iter.Seq2[client.Entry, error], order andon.Order,
) iter.Seq2[client.Escalation, error] {
	return func(yield func(client.Escalation, error) bool) {
		for e, err := range entries {
			if err != nil {
				yield(client.Escalation{}, err)
				return
			}
			if order == andon.Asc {
				slices.Reverse(e.Escalations)
			}
			for _, r := range e.Escalations {
				one := client.Escalation{Device: e.Device, Time: e.Time, State: e.State, Record: r}
				if !yield(one, nil) {
					return
				}
			}
		}
	}
}
