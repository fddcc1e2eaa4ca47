package table

import (
	"fmt"
	"strings"

	"github.com/andonhq/andon"
)

// Events returns the rows as events. The error is about the mapping: it lacks a field, or names a
// column that is not there.
func (t *Table) Events(m Mapping) (Items[andon.Event], error) {
	open := !t.header && m.Attributes == nil
	if err := t.bind(m.eventFields()); err != nil {
		return nil, err
	}
	if open {
		for _, f := range m.eventFields() {
			m.used = append(m.used, *f.columns...)
		}
	}
	if len(m.End) > 0 {
		return t.runItems(&m), nil
	}
	return ItemsOf(t, m.Event), nil
}

// Readings returns the rows as readings, as Events does. A metric whose cell is empty or null is
// left out; a row without any is wrong.
func (t *Table) Readings(m Mapping) (Items[andon.Reading], error) {
	if err := t.bind(m.readingFields()); err != nil {
		return nil, err
	}
	return ItemsOf(t, m.Reading), nil
}

// Assignments returns the rows as assignments, as Events does. A row that has a value in a column
// to was over then, which To is not 0 for: there is nothing else in the assignment.
func (t *Table) Assignments(m Mapping) (Items[andon.Assignment], error) {
	if err := t.bind(m.assignmentFields()); err != nil {
		return nil, err
	}
	return ItemsOf(t, m.assignment), nil
}

// Event returns a row as an event. The error is about the row.
func (m *Mapping) Event(row *Row) (e andon.Event, err error) {
	e = andon.Event{
		Device:      andon.DeviceID(joined(row, m.Device, "/")),
		State:       m.state(row),
		Operator:    andon.PersonID(joined(row, m.Operator, "/")),
		Message:     joined(row, m.Message, "/"),
		EscalatedTo: andon.PersonID(joined(row, m.EscalatedTo, "/")),
	}
	if e.Time, err = m.time(row, m.Time); err != nil {
		return e, err
	}
	e.Attributes, err = object(row, columnAttributes, m.Attributes, m.unused(row)...)
	if err != nil {
		return e, err
	}
	return e, e.Validate()
}

// Reading returns a row as a reading, as Event does.
func (m *Mapping) Reading(row *Row) (r andon.Reading, err error) {
	r.Device = andon.DeviceID(joined(row, m.Device, "/"))
	if r.Time, err = m.time(row, m.Time); err != nil {
		return r, err
	}
	if r.Metrics, err = m.metrics(row); err != nil {
		return r, err
	}
	if r.Metadata, err = object(row, columnMetadata, m.Metadata); err != nil {
		return r, err
	}
	if len(r.Metrics) == 0 && (r.Metadata == "" || !isEmpty(row, m.Metrics)) {
		if row.find != nil {
			return r, fmt.Errorf("there is no metric")
		}
		return r, wrong(strings.Join(m.Metrics, ","), fmt.Errorf("there is no metric"))
	}
	return r, r.Validate()
}

// assignment checks what the server would refuse: that answers a request in which nothing is right
// with an error, which would end the import. In JSON null unassigns, in CSV an empty cell.
func (m *Mapping) assignment(row *Row) (a andon.Assignment, err error) {
	if _, over := row.Value("to"); over {
		return andon.Assignment{To: andon.MaxTime}, nil
	}
	a.Device = andon.DeviceID(joined(row, m.Device, "/"))
	a.Operator = andon.PersonID(joined(row, m.Operator, "/"))
	if err := a.Device.Validate(); err != nil {
		return a, err
	}
	if a.Operator != "" {
		return a, a.Operator.ValidateAs("operator")
	}
	v, ok := row.value(m.Operator[0])
	switch {
	case row.header != nil || v.text == "null":
		return a, nil
	case !ok:
		return a, fmt.Errorf("operator is missing; null unassigns")
	}
	return a, fmt.Errorf("operator is empty: a name assigns, null unassigns")
}

// joined returns the text of columns, those that are empty left out.
func joined(row *Row, columns []string, with string) (text string) {
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
			text += with + part
		}
	}
	return text
}

// time reads a time that columns make. A file has some, but a row of no file may have none.
func (m *Mapping) time(row *Row, columns []string) (andon.Time, error) {
	if columns == nil {
		return 0, nil
	}
	t, err := m.ParseTime(strings.TrimSpace(joined(row, columns, " ")))
	if err != nil {
		return 0, wrong(strings.Join(columns, ","), err)
	}
	return t, nil
}

// state returns the state of a row as it is called here.
func (m *Mapping) state(row *Row) andon.State {
	text := joined(row, m.State, "/")
	if name, ok := m.States[text]; ok {
		text = name
	}
	return andon.State(text)
}

func wrong(column string, err error) error {
	return fmt.Errorf("column %s: %w", shown(column), err)
}
