package table

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Row is one row of a table. Its values are addressed by the name of a column; in JSON a name with
// dots goes into nested objects, unless a member has that very name.
type Row struct {
	Index  int      // rows are counted from 0, bad ones too, the header not
	Line   int      // where it begins; lines are counted from 1; 0 in a JSON array
	Bad    error    // why it has no values; nil where it has
	header []string // of CSV
	cells  []string // of CSV
	object string   // of JSON
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

// cell returns the unchanged value of a column.
func (r *Row) cell(column string) (cell string, ok bool) {
	if r.header == nil {
		return find(r.object, column)
	}
	if i := slices.Index(r.header, column); i >= 0 && column != "" && r.cells[i] != "" {
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

// json returns a value as JSON: as it is there, a cell of CSV as a string.
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

// names lists the names in an object, those in inner objects after a dot.
func names(prefix, object string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name, value := range jsonscan.Members(object) {
			if !yield(prefix + name) {
				return
			}
			if value[0] != '{' {
				continue
			}
			for inner := range names(prefix+name+".", value) {
				if !yield(inner) {
					return
				}
			}
		}
	}
}
