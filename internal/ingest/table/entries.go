package table

import (
	"cmp"
	"errors"
	"iter"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
)

// Entries are the rows of a table as events or readings, in the order of the file. As in Rows, an
// error of type *RowError is about one row, and any other error ends the sequence.
type Entries[T any] = iter.Seq2[ingest.Item[T], error]

// Events returns the rows as events. The error is about the mapping: it lacks a field, or names a
// column that is not there.
func (t *Table) Events(m Mapping) (Entries[andon.Event], error) {
	if err := m.checkEvents(); err != nil {
		return nil, err
	}
	if err := t.bind(&m, m.eventFields()); err != nil {
		return nil, err
	}
	m.takeUnnamed(t.source.columns(t.sample))
	if len(m.End) > 0 {
		return t.runEntries(&m), nil
	}
	return entries(t, m.event), nil
}

// Readings returns the rows as readings, as Events does. A metric whose cell is empty or null is
// left out; a row without any is an error.
func (t *Table) Readings(m Mapping) (Entries[andon.Reading], error) {
	if err := m.checkReadings(); err != nil {
		return nil, err
	}
	if err := t.bind(&m, m.readingFields()); err != nil {
		return nil, err
	}
	return entries(t, m.reading), nil
}

// bind finds the columns of a mapping in the table.
func (t *Table) bind(m *Mapping, fields []field) error {
	have := t.source.columns(t.sample)
	t.guesses = m.guess(have, fields)
	m.digits = &t.digits
	err := bind(fields, have)
	if s, ok := t.source.(*csvSource); ok && err != nil {
		return s.misread(err)
	}
	return err
}

func entries[T any](t *Table, read func(*Row) (T, error)) Entries[T] {
	return func(yield func(ingest.Item[T], error) bool) {
		for row, err := range t.Rows() {
			item := ingest.Item[T]{Index: row.Index, Line: row.Line}
			if err == nil {
				item.Value, err = read(&row)
				err = atRow(row, err)
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

func (m *Mapping) event(row *Row) (e andon.Event, err error) {
	e = andon.Event{
		Device:      andon.DeviceID(m.joined(row, m.Device)),
		State:       m.state(row),
		Operator:    andon.PersonID(m.joined(row, m.Operator)),
		Message:     m.joined(row, m.Message),
		EscalatedTo: andon.PersonID(m.joined(row, m.EscalatedTo)),
	}
	if e.Time, err = m.time(row); err != nil {
		return e, err
	}
	if e.Attributes, err = object(row, columnAttributes, m.Attributes); err != nil {
		return e, err
	}
	return e, m.invalid(e.Validate(), m.eventFields)
}

func (m *Mapping) reading(row *Row) (r andon.Reading, err error) {
	r.Device = andon.DeviceID(m.joined(row, m.Device))
	if r.Time, err = m.time(row); err != nil {
		return r, err
	}
	if r.Metrics, err = m.metrics(row); err != nil {
		return r, err
	}
	if r.Metadata, err = object(row, columnMetadata, m.Metadata); err != nil {
		return r, err
	}
	if len(r.Metrics) == 0 {
		return r, &RowError{Column: strings.Join(m.Metrics, ","), Reason: "there is no metric"}
	}
	return r, m.invalid(r.Validate(), m.readingFields)
}

// joined returns the text of columns, those that are empty left out.
func (m *Mapping) joined(row *Row, columns []string) string {
	join := cmp.Or(m.Join, "/")
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
	m.digits.add(text)
	if t, err = m.parseTime(text, row); err != nil {
		return 0, &RowError{Column: strings.Join(m.Time, ","), Reason: err.Error()}
	}
	return t, nil
}

func (m *Mapping) parseTime(text string, row *Row) (andon.Time, error) {
	switch {
	case text == "":
		return 0, andon.Errorf(andon.Invalid, "time is missing")
	case isNumber(text):
		at, err := andon.ParseEpoch(text, m.Precision)
		if days, _ := strconv.ParseFloat(text, 64); days > 20_000 && days < 80_000 {
			err = andon.Errorf(andon.Invalid, "%s looks like the number that a spreadsheet has "+
				"for a date: give the column the form of a date before it is saved", text)
		}
		return at, err
	}
	return m.Clock.parse(text, row.Line)
}

// state returns the state of a row as it is called here.
func (m *Mapping) state(row *Row) andon.State {
	text := m.joined(row, m.State)
	if name, ok := m.States[text]; ok {
		return name
	}
	return andon.State(text)
}

// isNumber distinguishes a number from a date, which has a '-' after its year, or two points.
func isNumber(text string) bool {
	return strings.Count(text, ".") < 2 && strings.Trim(text, "0123456789.eE+") == "" &&
		text[0] >= '0' && text[0] <= '9'
}

// invalid says what Validate found wrong, at the columns of that field.
func (m *Mapping) invalid(err error, fields func() []field) error {
	if err == nil {
		return nil
	}
	one := &RowError{Reason: err.Error()}
	if e, ok := errors.AsType[*andon.Error](err); ok && len(e.Fields) > 0 {
		for _, f := range fields() {
			if e.Fields[0].Location == "body."+f.name {
				one.Column = strings.Join(*f.columns, ",")
			}
		}
	}
	return one
}
