package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

type member struct {
	name   string
	column string
	value
}

// members returns what columns make in a row, those that are absent left out; of the column whole,
// where its value is an object, the members of that. More follow. A name that two columns make is
// an error.
func members(
	row *Row, whole string, columns []string, more ...member,
) (all []member, err error) {
	expand := func(column string, v value) {
		for name, text := range jsonscan.Members(v.text) {
			all = append(all, member{name, column + "." + name, value{text, true}})
		}
	}
	for _, column := range columns {
		object, many := strings.CutSuffix(column, ".*")
		many = many && !strings.Contains(column, "\x00")
		v, ok := row.value(object)
		if ok && (many || column == whole) {
			v = v.unquoted()
		}
		switch {
		case ok && (many || column == whole) && v.isObject():
			expand(object, v)
		case ok && !many && (column != whole || v != value{"null", true}):
			name := column
			if row.find != nil {
				column, _, _ = strings.Cut(column, "\x00")
				name, _ = row.Value(column)
			} else if v.isJSON { // what follows the last dot; CSV has no nesting
				name = column[strings.LastIndexByte(column, '.')+1:]
			}
			all = append(all, member{name, column, v})
		}
		for i, other := range row.header {
			if name, ok := strings.CutPrefix(other, object+"."); many && ok && row.cells[i] != "" {
				all = append(all, member{name, other, value{row.cells[i], false}})
			}
		}
	}
	if all = append(all, more...); len(all) < 2 {
		return all, nil
	}
	seen := make(map[string]bool, len(all))
	for _, m := range all {
		if seen[m.name] {
			return nil, wrong(m.column, fmt.Errorf("the name %s occurs twice",
				ingest.Clip(m.name)))
		}
		seen[m.name] = true
	}
	return all, nil
}

// unquoted returns the object of which a string has the text, as databases without objects have it;
// else the value itself.
func (v value) unquoted() value {
	if text, ok := v.plain(); ok && v.isJSON && checkObject(text) == nil {
		v.text = text
	}
	return v
}

// object makes one JSON object of columns, absent where they all are.
func object(
	row *Row, whole string, columns []string, more ...member,
) (andon.JSON, error) {
	all, err := members(row, whole, columns, more...)
	if err != nil || len(all) == 0 && !isEmpty(row, columns) {
		return "", err
	}
	texts := make([]string, len(all))
	for i, m := range all {
		texts[i] = jsonscan.Quote(m.name) + ":" + m.json()
	}
	return andon.JSON("{" + strings.Join(texts, ",") + "}"), nil
}

// unused returns the members of a row that no field has, nor a part of, where they are kept.
func (m *Mapping) unused(row *Row) (all []member) {
	if m.used == nil {
		return nil
	}
	for name, text := range jsonscan.Members(row.object) {
		if !slices.ContainsFunc(m.used, func(column string) bool {
			return column == name || strings.HasPrefix(column, name+".")
		}) {
			all = append(all, member{name, name, value{text, true}})
		}
	}
	return all
}

// isEmpty reports whether one of some columns is an object without members: it is there.
func isEmpty(row *Row, columns []string) bool {
	return slices.ContainsFunc(columns, func(column string) bool {
		v, _ := row.value(strings.TrimSuffix(column, ".*"))
		return v.text == "{}"
	})
}

// metrics makes metrics of columns: numbers, or true and false as 1 and 0.
func (m *Mapping) metrics(row *Row) (andon.Metrics, error) {
	all, err := members(row, columnMetrics, m.Metrics)
	if err != nil {
		return nil, err
	}
	read := make(andon.Metrics, 0, len(all))
	for _, one := range all {
		text, ok := one.plain()
		isOther := row.find != nil && strings.IndexByte(`"[{`, one.text[0]) >= 0
		if !ok || isOther && strings.HasPrefix(one.column, "$") {
			continue
		}
		value, err := m.number(strings.TrimSpace(text))
		if err != nil {
			return nil, wrong(one.column, err)
		}
		read = append(read, andon.Metric{Name: andon.MetricName(one.name), Value: value})
	}
	return read.Sorted()
}

func (m *Mapping) number(text string) (float64, error) {
	whole, part, comma := strings.Cut(text, ",")
	if comma && m.DecimalComma && !strings.Contains(text, ".") {
		return ingest.ParseSwitch(whole + "." + part)
	}
	value, err := ingest.ParseSwitch(text)
	if comma && !m.DecimalComma {
		err = andon.Errorf(andon.Invalid, "%w; if that is a decimal comma, say --decimal ,", err)
	}
	return value, err
}
