package table

import (
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
	find   func(column string) (json string, ok bool)
}

// NewRow makes a row that is of no file. find returns the JSON of a column. Of a column that ends
// in ".*" only numbers are metrics.
func NewRow(find func(column string) (json string, ok bool)) *Row { return &Row{find: find} }

// Named returns a column of such a row, as a member whose name is in a column, too.
func Named(name, column string) string { return name + "\x00" + column }

// Value returns the value of a column as text: a string without its quotes, all else of JSON as it
// is there. It is absent where the column is missing or null, and where a cell is empty.
func (r *Row) Value(column string) (string, bool) {
	v, ok := r.value(column)
	if !ok {
		return "", false
	}
	return v.plain()
}

func (r *Row) value(column string) (v value, ok bool) {
	if r.find != nil {
		if _, of, named := strings.Cut(column, "\x00"); named {
			column = of
		}
		text, ok := r.find(column)
		return value{text, true}, ok
	}
	if r.header == nil {
		text, ok := Find(r.object, column)
		return value{text, true}, ok
	}
	if i := slices.Index(r.header, column); i >= 0 && column != "" && r.cells[i] != "" {
		return value{r.cells[i], false}, true
	}
	return value{}, false
}

// Find returns the value of a member by its name, or by names joined with dots.
func Find(object, name string) (value string, ok bool) {
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
	return Find(inner, name[at:])
}

// namesIn lists the names in an object after a prefix, those in inner objects after a dot.
func namesIn(object, prefix string) (all []string) {
	for name, value := range jsonscan.Members(object) {
		all = append(all, prefix+name)
		all = append(all, namesIn(value, prefix+name+".")...) // none of what is no object
	}
	return all
}

// value is a cell of CSV that is not empty, or a value of JSON as it is there.
type value struct {
	text   string
	isJSON bool
}

// plain is the value as text; null is absent.
func (v value) plain() (text string, ok bool) {
	switch {
	case !v.isJSON:
		return v.text, true
	case v.text == "null":
		return "", false
	}
	return jsonscan.Text(v.text), true
}

// json is the value as JSON: a cell of CSV is a string.
func (v value) json() string {
	if v.isJSON {
		return v.text
	}
	return jsonscan.Quote(v.text)
}

// isObject reports whether the value is an object of JSON; in CSV that is the whole text of a cell.
func (v value) isObject() bool {
	return v.text[0] == '{' && (v.isJSON || checkObject(v.text) == nil)
}
