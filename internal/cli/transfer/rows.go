package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/ingest/table"
)

// rows are the rows of a table, and how they are to be read.
type rows struct {
	*importOptions
	table   *table.Table
	mapping table.Mapping
}

// readTable makes entries of the rows of a table.
func (s *source) readTable(p *command.Program, o *importOptions, in *bufio.Reader) error {
	format, err := o.format()
	if err != nil {
		return err
	}
	comma, err := o.comma()
	if err != nil {
		return err
	}
	r := &rows{importOptions: o, mapping: o.mapping}
	if !o.assigns {
		if err := r.complete(); err != nil {
			return err
		}
	}
	r.table, err = table.New(in, table.Options{
		Format: format, Comma: comma, Comments: o.comments, NoHeader: o.noHeader,
	})
	if err == nil && o.assigns {
		return s.readAssignments(r.table, format)
	}
	if err == nil {
		err = s.readRows(r)
	}
	if err != nil {
		return fmt.Errorf("%w%s", err, r.advice(err))
	}
	if o.ahead {
		return nil
	}
	var taken []string
	for _, g := range r.table.Guesses() {
		taken = append(taken, g.Field+" from "+draw.Legible(g.Column))
	}
	if len(taken) > 0 {
		s.notes = append(s.notes, "taken were "+strings.Join(taken, ", "))
	}
	return s.orderDates(p)
}

// readRows makes events or readings of the rows.
func (s *source) readRows(r *rows) error {
	s.rows = r
	if s.kind == kindReadings {
		readings, err := r.table.Readings(r.mapping)
		s.entries = wrapAll(readings, func(r *andon.Reading) entry { return entry{Reading: r} })
		return err
	}
	events, err := r.table.Events(r.mapping)
	s.entries = wrapEvents(events)
	return err
}

// complete checks the mapping and adds what the flags say about times, states and numbers.
func (r *rows) complete() (err error) {
	m := &r.mapping
	switch {
	case len(m.State) > 0 && len(m.Metrics) > 0:
		return andon.Errorf(andon.Invalid, "--state makes events of the rows, and --metrics "+
			"readings: give one of them\n"+
			"What is kept with an event is --attributes, with a reading --metadata")
	case len(m.Metrics) == 0 && len(m.Metadata) > 0:
		return andon.Errorf(andon.Invalid, "--metadata is kept with readings, which "+
			"--metrics names\nWhat is kept with an event is --attributes")
	case len(m.Metrics) == 0 && len(m.State) == 0:
		m.State = []string{"state"}
	}
	m.Overlaps, m.DecimalComma = &table.Overlaps{}, r.decimal.Value == ","
	if m.Precision, err = andon.ParsePrecision(r.precision); err != nil {
		return err
	}
	if m.Precision == andon.Assumed { // doubt checks the numbers of the whole file
		m.Precision = andon.Milliseconds
	}
	m.Clock = &table.Clock{}
	if m.Clock.Zone, err = table.ParseZone(r.zone); err != nil {
		return andon.Errorf(andon.Invalid, "--zone %w", err)
	}
	if r.dateOrder != "" {
		if m.Clock.Dates.Order, err = table.ParseDateOrder(r.dateOrder); err != nil {
			return andon.Errorf(andon.Invalid, "--date-order %w", err)
		}
	}
	m.States = make(map[string]andon.State, len(r.states))
	for name, state := range r.states {
		if err := andon.State(state).Validate(); err != nil {
			return andon.Errorf(andon.Invalid, "--map %s=%s: %w", name, state, err)
		}
		m.States[name] = andon.State(state)
	}
	return nil
}

// orderDates finds the order of day and month in dates such as 05/11/2026, unless a flag says it.
// It reads the file as far as it takes; standard input can't be read twice.
func (s *source) orderDates(p *command.Program) error {
	dates := &s.rows.mapping.Clock.Dates
	if dates.Order != 0 || s.rows.file == "-" {
		return nil
	}
	o := *s.rows.importOptions
	o.ahead = true
	probe, err := openQuietly(p, o)
	if err != nil {
		return err
	}
	defer probe.close()
	seen := &probe.rows.mapping.Clock.Dates
	for _, err := range probe.entries {
		if seen.IsDecided() || err != nil && !table.IsOfRow(err) {
			break
		}
	}
	if doubt := seen.Doubt(); doubt != "" {
		return andon.Errorf(andon.Invalid, "%s\nSay which: --date-order dmy, mdy or ymd", doubt)
	}
	order, example, line, proven := seen.Proven()
	if !proven {
		return nil
	}
	dates.Order = order
	if line > 0 { // a format with lines
		example = fmt.Sprintf("%s in line %d", example, line)
	}
	s.notes = append(s.notes, fmt.Sprintf("dates are read as %s, which %s proves", order, example))
	return nil
}

// advice says with which flag a file can be read that could not.
func (r *rows) advice(err error) string {
	if other, ok := errors.AsType[*table.CommaError](err); ok {
		if other.Comma == '\t' {
			return "\nIf that is so, say --delimiter tab"
		}
		return "\nIf that is so, say --delimiter '" + string(other.Comma) + "'"
	}
	if r.table == nil {
		return ""
	}
	has := func(begin string) bool {
		begins := func(name string) bool { return strings.HasPrefix(name, begin) }
		return slices.ContainsFunc(r.table.Columns(), begins)
	}
	field, rest, _ := strings.Cut(err.Error(), ": ")
	switch {
	case has("#") && !r.comments:
		return "\nIf lines with # come before the header, say --comments"
	case has("metrics") && !has("state") && len(r.importOptions.mapping.State) == 0 &&
		r.kind() == kindEvents:
		return "\nIf these are readings, say --metrics 'metrics.*' --metadata 'metadata.*'"
	case strings.HasPrefix(rest, fmt.Sprintf("there is no column %q;", field)):
		return "\nSay which column it is: --" + strings.ReplaceAll(field, "_", "-") + " COLUMN"
	}
	return ""
}

// doubt reports times that are numbers of another unit than the one that is assumed: seconds read
// as milliseconds would all be of January 1970. Of standard input it also reports dates whose order
// is not known.
func (r *rows) doubt() error {
	dates := &r.mapping.Clock.Dates
	_, example, _, _ := dates.Proven()
	if example != "" && dates.Order == 0 && r.file == "-" {
		return andon.Errorf(andon.Invalid, "%s is read only once, so it can't prove the order of "+
			"dates such as %s\nSay it: --date-order dmy, mdy or ymd", r.name(), example)
	}
	likely, ok := r.table.Precision()
	if !ok || r.precisely || likely == r.mapping.Precision {
		return nil
	}
	unit := map[andon.Precision][2]string{
		andon.Seconds: {"s", "seconds"}, andon.Microseconds: {"us", "microseconds"},
		andon.Nanoseconds: {"ns", "nanoseconds"},
	}[likely]
	return andon.Errorf(andon.Invalid, "%s: the times look like %s, and would be read as "+
		"milliseconds\nSay --precision %s; or --precision ms, if they are right as they are",
		r.name(), unit[1], unit[0])
}

// orderOverlaps has the severest of several rows that go on at once shown.
func (r *rows) orderOverlaps(defs []andon.StateDef) error {
	if r.overlap.Value == overlapLast {
		return nil
	}
	states, err := andon.NewStateSet(defs)
	if err == nil {
		r.mapping.Overlaps.Severity = states.Severity
	}
	return err
}

// remarks say at the end what may surprise in how the rows were read.
func (r *rows) remarks() (all []string) {
	if n, line := r.mapping.Clock.Twice(); n > 0 {
		all = append(all, fmt.Sprintf("%s came twice in %s when the clocks went back, the first "+
			"in line %d: each was taken as the earlier of the two",
			draw.Count(n, "time"), r.zone, line))
	}
	o := r.mapping.Overlaps
	if o.Began > 0 {
		is := "severest"
		if o.Severity == nil {
			is = "one that began last"
		}
		text := fmt.Sprintf("%s began while another row of the same device went on: the device is "+
			"in the %s", draw.Count(o.Began, "row"), is)
		if o.Never > 0 {
			text += fmt.Sprintf(" (never shown: %s)", draw.Count(o.Never, "row"))
		}
		all = append(all, text+". --overlap severest or last chooses")
	}
	return all
}
