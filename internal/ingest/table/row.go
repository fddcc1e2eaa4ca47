package table

import (
	"encoding/json"
	"strings"

	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Row is one row of a table. Its values are addressed by the name of a column; in JSON a name with
// dots goes into nested objects, unless a member has that very name.
type Row struct {
	Index  int      // rows are counted from 0, bad ones too, the header not
	Line   int      // where it begins; lines are counted from 1; 0 in a JSON array
	header *columns // of CSV
	cells  []string // of CSV
	object string   // of JSON
}

type columns struct {
	names  []string
	places map[string]int // index of each in names
	sample bool           // there may be others in rows to come
}

func (c *columns) contains(name string) bool {
	_, ok := c.places[name]
	return ok && name != ""
}

func (c *columns) add(name string) {
	if !c.contains(name) {
		c.places[name] = len(c.names)
		c.names = append(c.names, name)
	}
}

// Value returns the value of a column as text: a string without its quotes, all else of JSON as it
// is there. It is absent where the column is missing or null, and where a cell is empty.
func (r *Row) Value(column string) (string, bool) {
	cell, ok := r.cell(column)
	if !ok {
		return "", false
	}
	return r.text(cell)
}

// JSON returns the value of a column as JSON: as it is there, a cell of CSV as a string.
func (r *Row) JSON(column string) (string, bool) {
	cell, ok := r.cell(column)
	if !ok {
		return "", false
	}
	return r.json(cell), true
}

// cell returns the unchanged value of a column.
func (r *Row) cell(column string) (cell string, ok bool) {
	if r.header == nil {
		return find(r.object, column)
	}
	if i, ok := r.header.places[column]; ok && r.cells[i] != "" {
		return r.cells[i], true
	}
	return "", false
}

func (r *Row) text(cell string) (text string, ok bool) {
	if r.header != nil {
		return cell, true
	}
	return jsonText(cell)
}

func jsonText(value string) (text string, ok bool) {
	switch {
	case value == "null":
		return "", false
	case value[0] == '"':
		s := jsonscan.Scanner{Text: value}
		text, _ = s.String() // the row has been read before
		return text, true
	}
	return value, true
}

func (r *Row) json(cell string) string {
	if r.header == nil {
		return cell
	}
	return quoted(cell)
}

func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic("table: a string can't be written as JSON: " + err.Error())
	}
	return string(b)
}

// find returns the value of a member by its name, or by names joined with dots.
func find(object, name string) (value string, ok bool) {
	inner, at := "", 0
	for member, text := range jsonscan.Members(object) {
		if member == name {
			return text, true
		}
		// The longest name that leads on wins; the very name, if it comes later, before all.
		if len(member) >= at && strings.HasPrefix(name, member) && name[len(member):][0] == '.' {
			inner, at = text, len(member)+1
		}
	}
	if at == 0 || inner[0] != '{' {
		return "", false
	}
	return find(inner, name[at:])
}
