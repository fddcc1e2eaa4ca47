package table

import (
	"fmt"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// cell is one member of an object that columns make.
type cell struct {
	name   string
	column string
	value  string // as in the row
	isJSON bool   // in CSV, too
}

// cells returns the members that columns make in a row, those that are absent left out; of the
// column whole, where its value is an object, the members of that. A name that two columns make is
// an error.
func cells(row *Row, whole string, columns []string) (all []cell, err error) {
	for _, column := range columns {
		if prefix, many := strings.CutSuffix(column, ".*"); many {
			all = row.spread(all, prefix)
			continue
		}
		value, ok := row.cell(column)
		switch {
		case !ok, column == whole && row.header == nil && value == "null":
		case column == whole && row.isObject(value):
			all = expand(all, column, value)
		default:
			all = append(all, cell{row.memberName(column), column, value, false})
		}
	}
	seen := make(map[string]bool, len(all))
	for _, c := range all {
		if seen[c.name] {
			return nil, wrong(c.column, fmt.Errorf("the name %s occurs twice",
				ingest.Clip(c.name)))
		}
		seen[c.name] = true
	}
	return all, nil
}

func isSpread(column string) bool { return strings.HasSuffix(column, ".*") }

// isObject reports whether a cell is an object of JSON; in CSV that is its whole text.
func (r *Row) isObject(cell string) bool {
	if r.header == nil {
		return cell[0] == '{'
	}
	return strings.HasPrefix(cell, "{") && checkObject(cell) == nil
}

// memberName is what follows the last dot of a column of JSON; CSV has no nesting.
func (r *Row) memberName(column string) string {
	if r.header != nil {
		return column
	}
	return column[strings.LastIndexByte(column, '.')+1:]
}

// expand appends the members of an object in a column.
func expand(all []cell, column, object string) []cell {
	for name, value := range jsonscan.Members(object) {
		all = append(all, cell{name, column + "." + name, value, true})
	}
	return all
}

// spread appends every column that begins with the prefix and a dot, and the members of the object
// in the column of the prefix itself.
func (r *Row) spread(all []cell, prefix string) []cell {
	if nested, ok := r.cell(prefix); ok && r.isObject(nested) {
		all = expand(all, prefix, nested)
	}
	for i, column := range r.header {
		if name, ok := strings.CutPrefix(column, prefix+"."); ok && r.cells[i] != "" {
			all = append(all, cell{name, column, r.cells[i], false})
		}
	}
	return all
}

// object makes one JSON object of columns, absent where they all are.
func object(row *Row, whole string, columns []string) (andon.JSON, error) {
	all, err := cells(row, whole, columns)
	if err != nil || len(all) == 0 {
		return "", err
	}
	text := make([]byte, 0, 128)
	for i, c := range all {
		text = append(text, "{,"[min(i, 1)])
		text = append(text, quoted(c.name)...)
		value := c.value
		if !c.isJSON {
			value = row.json(value)
		}
		text = append(append(text, ':'), value...)
	}
	return andon.JSON(append(text, '}')), nil
}

// metrics makes metrics of columns: numbers, or true and false as 1 and 0.
func (m *Mapping) metrics(row *Row) (andon.Metrics, error) {
	all, err := cells(row, columnMetrics, m.Metrics)
	if err != nil {
		return nil, err
	}
	read := make(andon.Metrics, 0, len(all))
	for _, c := range all {
		text, ok := row.text(c.value)
		if c.isJSON {
			text, ok = jsonText(c.value)
		}
		if !ok {
			continue
		}
		value, err := m.number(strings.TrimSpace(text))
		if err != nil {
			return nil, wrong(c.column, err)
		}
		read = append(read, andon.Metric{Name: andon.MetricName(c.name), Value: value})
	}
	return read.Sorted()
}

// number reads a metric.
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
