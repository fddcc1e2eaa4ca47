package cli

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/vbauerster/cupwriter"

	"github.com/andonhq/andon"
)

// The formats of an answer.
const (
	formatTable = "table" // for a person
	formatJSON  = "json"  // one object a line
	formatCSV   = "csv"   // RFC 4180 with a header
)

// output is how an answer is printed.
type output struct {
	format *choice // "" until it is known whether a person looks
	limit  int     // at most so many items
	all    bool    // without a limit
	looks  looks
	none   func() string // why there is nothing to show, asked only then; may be nil
}

func (o *output) formatFlag(cmd *cobra.Command) {
	o.format = choiceFlag(cmd, "output", "",
		"form of the answer (default table on a terminal, else json: an object a line)",
		formatTable, formatJSON, formatCSV)
}

func (o *output) limitFlags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&o.limit, "limit", andon.DefaultLimit, "`number` of items at most")
	cmd.Flags().BoolVar(&o.all, "all", false, "without a limit")
	cmd.MarkFlagsMutuallyExclusive("limit", "all")
}

// settle fills in what depends on where the answer goes, and checks the rest.
func (o *output) settle(p *program) error {
	if o.format.value == "" {
		o.format.value = formatJSON
		if isTerminal(p.stdout) {
			o.format.value = formatTable
		}
	}
	if o.looks.brief = isTerminal(p.stdout); o.looks.brief {
		o.looks.width, _ = sizeOf(cupwriter.New(p.stdout, false))
	}
	if o.limit < 1 && !o.all {
		return andon.Errorf(andon.Invalid, "--limit %d is less than 1; --all is without a limit",
			o.limit)
	}
	return nil
}

func (o *output) isTable() bool { return o.format.value == formatTable }

// page is how many items to ask the server for at once: one more than are shown, to know whether
// there are more.
func (o *output) page() int {
	if o.all {
		return andon.MaxLimit
	}
	return min(o.limit+1, andon.MaxLimit)
}

// sink takes items in one format.
type sink[T any] interface {
	put(*T) error
	// end writes what is still held back.
	end() error
}

// newSink makes the sink of a format; header says whether CSV begins with the names of its columns.
func newSink[T any](
	format string, w io.Writer, columns []column[T], page page, looks looks, header bool,
) sink[T] {
	switch format {
	case formatCSV:
		return newCSVSink(w, columns, header)
	case formatTable:
		return &tableSink[T]{page: page, looks: looks, columns: columns}
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return jsonSink[T]{encoder}
}

// jsonSink writes an object a line.
type jsonSink[T any] struct{ encoder *json.Encoder }

func (s jsonSink[T]) put(item *T) error { return s.encoder.Encode(item) }
func (s jsonSink[T]) end() error        { return nil }

// csvSink writes a row an item.
type csvSink[T any] struct {
	w       *csv.Writer
	columns []column[T]
	row     []string
	header  bool // still to be written
}

func newCSVSink[T any](w io.Writer, columns []column[T], header bool) *csvSink[T] {
	s := &csvSink[T]{w: csv.NewWriter(w), header: header}
	for _, c := range columns {
		if c.text != nil {
			s.columns = append(s.columns, c)
		}
	}
	s.row = make([]string, len(s.columns))
	return s
}

func (s *csvSink[T]) put(item *T) error {
	if err := s.writeHeader(); err != nil {
		return err
	}
	for i, c := range s.columns {
		s.row[i] = c.text(item)
	}
	return s.w.Write(s.row)
}

func (s *csvSink[T]) writeHeader() error {
	if !s.header {
		return nil
	}
	s.header = false
	for i, c := range s.columns {
		s.row[i] = c.name
	}
	return s.w.Write(s.row)
}

func (s *csvSink[T]) end() error {
	err := s.writeHeader() // also where there was no item
	s.w.Flush()
	return errors.Join(err, s.w.Error())
}

// show prints the items of a list, as many as were asked for.
func show[T any](p *program, o *output, columns []column[T], items iter.Seq2[T, error]) error {
	w := bufio.NewWriter(p.stdout)
	page := p.newPage()
	page.w = w
	s := newSink(o.format.value, w, columns, page, o.looks, true)
	shown, more, err := pour(s, o, items)
	err = errors.Join(err, s.end(), w.Flush())
	switch {
	case errors.Is(err, syscall.EPIPE): // whoever reads has seen enough ("| head")
		return nil
	case err != nil:
		return err
	case more:
		fmt.Fprintf(p.stderr,
			"There are more than these %d: --limit N shows more, --all shows all.\n", shown)
	case shown == 0:
		o.tellNone(p.stderr)
	}
	return nil
}

// tellNone says that there is nothing, and why. A program that got nothing is told only the latter.
func (o *output) tellNone(w io.Writer) {
	why := ""
	if o.none != nil {
		why = o.none()
	}
	switch {
	case why != "":
		fmt.Fprintf(w, "There is none: %s.\n", why)
	case o.isTable():
		fmt.Fprintln(w, "There is none.")
	}
}

func pour[T any](
	s sink[T], o *output, items iter.Seq2[T, error],
) (shown int, more bool, err error) {
	for item, err := range items {
		if err != nil {
			return shown, false, err
		}
		if !o.all && shown == o.limit {
			return shown, true, nil
		}
		if err := s.put(&item); err != nil {
			return shown, false, err
		}
		shown++
	}
	return shown, false, nil
}

// showOne prints one item: as a table its fields stand below each other.
func showOne[T any](p *program, o *output, columns []column[T], item T) error {
	if !o.isTable() {
		w := bufio.NewWriter(p.stdout)
		s := newSink(o.format.value, w, columns, page{}, o.looks, true)
		return errors.Join(s.put(&item), s.end(), w.Flush())
	}
	looks := o.looks
	looks.brief = false // fields that stand below each other have room
	var rows [][]cell
	for _, c := range columns {
		if c.cell == nil {
			continue
		}
		if shown := c.cell(looks, &item); shown.text != "" {
			shown.right = false
			rows = append(rows, []cell{{text: c.title()}, shown})
		}
	}
	p.newPage().table(rows)
	return nil
}

// each makes a sequence of a slice.
func each[T any](items []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}
