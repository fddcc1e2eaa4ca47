package table

import (
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
)

// Events returns the rows as events. The error is about the mapping: it lacks a field, or names a
// column that is not there. The sequence is as Rows: a *RowError stands for one row, any other error
// ends it.
func (t *Table) Events(m Mapping) (iter.Seq2[ingest.Item[andon.Event], error], error) {
	if err := m.checkEvents(); err != nil {
		return nil, err
	}
	if err := bind(m.eventFields(), t.source.columns(t.sample)); err != nil {
		return nil, err
	}
	return entries(t, m.event), nil
}

// Readings returns the rows as readings, as Events does. A metric whose cell is empty or null is left
// out; a row without any is an error.
func (t *Table) Readings(m Mapping) (iter.Seq2[ingest.Item[andon.Reading], error], error) {
	if err := m.checkReadings(); err != nil {
		return nil, err
	}
	if err := bind(m.readingFields(), t.source.columns(t.sample)); err != nil {
		return nil, err
	}
	return entries(t, m.reading), nil
}

func entries[T any](t *Table, read func(*Row) (T, error)) iter.Seq2[ingest.Item[T], error] {
	return func(yield func(ingest.Item[T], error) bool) {
		for row, err := range t.Rows() {
			item := ingest.Item[T]{Index: row.Index, Line: row.Line}
			if err == nil {
				item.Value, err = read(&row)
				err = at(row, err)
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// event makes an event of a row.
func (m *Mapping) event(row *Row) (e andon.Event, err error) {
	e = andon.Event{
		Device:      andon.DeviceID(m.joined(row, m.Device)),
		State:       andon.State(m.joined(row, m.State)),
		Operator:    andon.PersonID(m.joined(row, m.Operator)),
		Message:     m.joined(row, m.Message),
		EscalatedTo: andon.PersonID(m.joined(row, m.EscalatedTo)),
	}
	if e.Time, err = m.time(row); err != nil {
		return e, err
	}
	if e.Attributes, err = object(row, m.Attributes); err != nil {
		return e, err
	}
	return e, m.invalid(e.Validate(), m.eventFields)
}

// reading makes a reading of a row.
func (m *Mapping) reading(row *Row) (r andon.Reading, err error) {
	r.Device = andon.DeviceID(m.joined(row, m.Device))
	if r.Time, err = m.time(row); err != nil {
		return r, err
	}
	if r.Metrics, err = metrics(row, m.Metrics); err != nil {
		return r, err
	}
	if r.Metadata, err = object(row, m.Metadata); err != nil {
		return r, err
	}
	if len(r.Metrics) == 0 {
		return r, &RowError{Column: strings.Join(m.Metrics, ","), Reason: "there is no metric"}
	}
	return r, m.invalid(r.Validate(), m.readingFields)
}

// joined returns the text of columns, those that are empty left out.
func (m *Mapping) joined(row *Row, columns []string) string {
	join := m.Join
	if join == "" {
		join = "/"
	}
	return joinWith(row, columns, join)
}

func joinWith(row *Row, columns []string, join string) (text string) {
	for _, column := range columns {
		part, constant := strings.CutPrefix(column, "=")
		if !constant {
			part, _ = row.Value(column)
		}
		switch {
		case part == "":
		case text == "":
			text = part
		default:
			text += join + part
		}
	}
	return text
}

// time reads the time of a row: a number of the precision, or as andon.ParseTime does.
func (m *Mapping) time(row *Row) (t andon.Time, err error) {
	text := strings.TrimSpace(joinWith(row, m.Time, " "))
	switch {
	case text == "":
		err = andon.Errorf(andon.Invalid, "time is missing")
	case isNumber(text):
		t, err = andon.ParseEpoch(text, m.Precision)
	default:
		t, err = andon.ParseTime(text)
	}
	if err != nil {
		return 0, &RowError{Column: strings.Join(m.Time, ","), Reason: err.Error()}
	}
	return t, nil
}

// isNumber tells a number from a date, which has a '-' behind its year.
func isNumber(text string) bool {
	return strings.Trim(text, "0123456789.eE+") == "" && text[0] >= '0' && text[0] <= '9'
}

// invalid says what Validate found wrong, at the columns of that field.
func (m *Mapping) invalid(err error, fields func() []field) error {
	if err == nil {
		return nil
	}
	one := &RowError{Reason: err.Error()}
	var e *andon.Error
	if errors.As(err, &e) && len(e.Fields) > 0 {
		for _, f := range fields() {
			if e.Fields[0].Location == "body."+f.name {
				one.Column = strings.Join(f.columns, ",")
			}
		}
	}
	return one
}

// cell is one member of an object that columns make.
type cell struct {
	name   string
	column string
	value  string // as it stands in the row
}

// cells returns the members that columns make in a row, those that are absent left out. A name that
// two columns make is an error.
func cells(row *Row, columns []string) (all []cell, err error) {
	for _, column := range columns {
		prefix, many := strings.CutSuffix(column, ".*")
		if many {
			all = row.spread(all, prefix)
		} else if value, ok := row.cell(column); ok {
			all = append(all, cell{row.memberName(column), column, value})
		}
	}
	if len(columns) < 2 && !slices.ContainsFunc(columns, isSpread) {
		return all, nil
	}
	seen := make(map[string]bool, len(all))
	for _, c := range all {
		if seen[c.name] {
			return nil, &RowError{Column: c.column, Reason: "the name " + ingest.Clip(c.name) + " stands twice"}
		}
		seen[c.name] = true
	}
	return all, nil
}

func isSpread(column string) bool { return strings.HasSuffix(column, ".*") }

// memberName is what stands behind the last dot of a column of JSON; CSV has no nesting.
func (r *Row) memberName(column string) string {
	if r.header != nil {
		return column
	}
	return column[strings.LastIndexByte(column, '.')+1:]
}

// spread appends every column that begins with the prefix and a dot.
func (r *Row) spread(all []cell, prefix string) []cell {
	if r.header == nil {
		if nested, ok := find(r.object, prefix); ok && nested[0] == '{' {
			for name, value := range members(nested) {
				all = append(all, cell{name, prefix + "." + name, value})
			}
		}
		return all
	}
	for i, column := range r.header.names {
		if name, ok := strings.CutPrefix(column, prefix+"."); ok && r.cells[i] != "" {
			all = append(all, cell{name, column, r.cells[i]})
		}
	}
	return all
}

// object makes one JSON object of columns, absent where they all are.
func object(row *Row, columns []string) (andon.JSON, error) {
	all, err := cells(row, columns)
	if err != nil || len(all) == 0 {
		return "", err
	}
	text := make([]byte, 0, 128)
	for i, c := range all {
		text = append(text, "{,"[min(i, 1)])
		text = append(text, quoted(c.name)...)
		text = append(append(text, ':'), row.json(c.value)...)
	}
	return andon.JSON(append(text, '}')), nil
}

// metrics makes metrics of columns: numbers, or true and false as 1 and 0.
func metrics(row *Row, columns []string) (andon.Metrics, error) {
	all, err := cells(row, columns)
	if err != nil {
		return nil, err
	}
	read := make(andon.Metrics, 0, len(all))
	for _, c := range all {
		text, ok := row.text(c.value)
		if !ok {
			continue
		}
		value, err := metric(strings.TrimSpace(text))
		if err != nil {
			return nil, &RowError{Column: c.column, Reason: err.Error()}
		}
		read = append(read, andon.Metric{Name: andon.MetricName(c.name), Value: value})
	}
	return read.Sorted()
}

func metric(text string) (float64, error) {
	switch text {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	return ingest.ParseMetric(text)
}
