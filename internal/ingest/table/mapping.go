package table

import (
	"slices"
	"strings"
	"unicode"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/spell"
)

// Mapping says which columns make an event or a reading. A column that is written "=text" is that
// text in every row. Several columns of one field are joined; those that are empty in a row are
// left out.
type Mapping struct {
	Device      []string
	Time        []string // joined by a space, since date and time of day often have a column each
	State       []string
	Operator    []string
	Message     []string
	EscalatedTo []string
	Join        string // between joined columns; empty is "/"

	// Attributes of events, Metrics and Metadata of readings: each column is one member. "data.*"
	// is every column that begins with "data.", and every member of the object in the column
	// "data". A member is named as its column; in JSON by what follows the last dot. A column
	// that has the name of its field and whose value is an object is not a member: its members are.
	Attributes []string
	Metrics    []string
	Metadata   []string

	// End is when the state of a row is over, joined as Time is; a row whose End is empty or "-"
	// goes on. EndState is what a device is in when none of its rows goes on.
	End      []string
	EndState andon.State
	Overlaps *Overlaps              // nil: where several go on, the one that began last counts
	States   map[string]andon.State // what a state of the file is called here; others stay

	// Unnamed are the fields that no column was named for. Each takes the column of its very name,
	// else one with a usual name, if the file has one that no other field uses.
	Unnamed []string

	// DecimalComma says that metrics are written as 21,5.
	DecimalComma bool

	Precision andon.Precision // of times that are numbers; the zero value is microseconds

	Clock *Clock // of times without a zone; nil is UTC

	digits *digits // counts the times that were read
}

// Columns of these names may hold a whole object.
const (
	columnAttributes = "attributes"
	columnMetrics    = "metrics"
	columnMetadata   = "metadata"
)

// field is one field of a mapping: its name as messages give it, and the columns it is made of.
type field struct {
	name     string
	columns  *[]string
	required bool
	members  bool // each column is a member of its own; else they are joined
}

func (m *Mapping) eventFields() []field {
	return []field{
		{name: "device", columns: &m.Device, required: true},
		{name: "time", columns: &m.Time, required: true},
		{name: "state", columns: &m.State, required: true},
		{name: "operator", columns: &m.Operator},
		{name: "message", columns: &m.Message},
		{name: "escalated_to", columns: &m.EscalatedTo},
		{name: "end", columns: &m.End},
		{name: columnAttributes, columns: &m.Attributes, members: true},
	}
}

func (m *Mapping) readingFields() []field {
	return []field{
		{name: "device", columns: &m.Device, required: true},
		{name: "time", columns: &m.Time, required: true},
		{name: columnMetrics, columns: &m.Metrics, required: true, members: true},
		{name: columnMetadata, columns: &m.Metadata, members: true},
	}
}

// checkEvents reports what is wrong with the mapping by itself, whatever the file.
func (m *Mapping) checkEvents() error {
	if len(m.Metrics)+len(m.Metadata) > 0 {
		return andon.Errorf(andon.Invalid, "metrics and metadata are of readings, and a state "+
			"makes an event of each row: what is kept with an event is attributes")
	}
	if err := m.checkEnd(); err != nil {
		return err
	}
	return check(m.eventFields())
}

func (m *Mapping) checkReadings() error {
	for _, f := range m.eventFields() {
		if len(*f.columns) > 0 && f.name != "device" && f.name != "time" {
			return andon.Errorf(andon.Invalid, "a reading has no %s, "+
				"only device, time, metrics and metadata", f.name)
		}
	}
	return check(m.readingFields())
}

func check(fields []field) error {
	for _, f := range fields {
		if len(*f.columns) == 0 && f.required {
			return andon.Errorf(andon.Invalid, "%s: no column is named", f.name)
		}
		for i, column := range *f.columns {
			if err := f.check(column); err != nil {
				return err
			}
			if f.members && slices.Contains((*f.columns)[:i], column) {
				return f.bad("column %s is named twice", column)
			}
		}
	}
	return nil
}

func (f *field) check(column string) error {
	switch {
	case column == "":
		return f.bad("a column's name is empty: %s", column)
	case f.members && column[0] == '=':
		return f.bad("the constant %s has no name", column)
	case f.members && (column == "*" || column == ".*"):
		return f.bad("%s names no object", column)
	case !f.members && isSpread(column):
		return f.bad("%s is many columns", column)
	}
	return nil
}

func (f *field) bad(format, column string) error {
	return andon.Errorf(andon.Invalid, "%s: "+format, f.name, ingest.Clip(column))
}

// takeUnnamed takes the columns that have the very name of a field in Unnamed. Of JSON only the
// first rows are known, so there each is taken: a column that never comes makes nothing.
func (m *Mapping) takeUnnamed(have *columns) {
	used := usedBy(m.eventFields())
	for _, f := range m.eventFields() {
		wanted := slices.Contains(m.Unnamed, f.name) && !slices.Contains(used, f.name)
		if wanted && len(*f.columns) == 0 && (have.sample || have.contains(f.name)) {
			*f.columns = []string{f.name}
		}
	}
}

func usedBy(fields []field) (used []string) {
	for _, f := range fields {
		used = append(used, *f.columns...)
	}
	return used
}

// bind reports a column that the table does not have.
func bind(fields []field, have *columns) error {
	if have.sample && len(have.names) == 0 {
		return nil
	}
	used := usedBy(fields)
	for _, f := range fields {
		for _, column := range *f.columns {
			if column[0] == '=' || have.covers(column) {
				continue
			}
			near, changes := nearest(column, have.names)
			if !isTypo(column, changes) {
				near = ""
			}
			typo := isTypo(column, changes) && !slices.Contains(used, near)
			if f.required || !have.sample || typo {
				return unknown(f.name, column, near, have.names)
			}
		}
	}
	return nil
}

// isTypo reports whether so few changes look like a typing error. Of JSON only the first rows are
// known, so an optional column may come later: there it must be taken, unless it nearly is a column
// that nothing else uses.
func isTypo(column string, changes int) bool { return changes <= min(2, len(column)/3) }

// covers reports whether a column is there, or one that a name ending in ".*" matches.
func (c *columns) covers(column string) bool {
	object, many := strings.CutSuffix(column, ".*")
	if !many {
		return c.contains(column)
	}
	begins := func(name string) bool { return strings.HasPrefix(name, object+".") }
	return slices.ContainsFunc(c.names, begins) || c.contains(object) || c.contains(column)
}

func unknown(field, column, near string, names []string) error {
	const most = 20
	var all []string
	for _, name := range names[:min(len(names), most)] {
		all = append(all, shown(name))
	}
	if len(names) > most {
		all = append(all, "…")
	}
	if near != "" {
		near = "; the nearest is " + ingest.Clip(near)
	}
	return andon.Errorf(andon.Invalid, "%s: there is no column %s%s; there are %s",
		field, ingest.Clip(column), near, strings.Join(all, ", "))
}

// shown is the name of a column as a terminal can show it.
func shown(name string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if len(name) > 64 || strings.ContainsFunc(name, hidden) {
		return ingest.Clip(name)
	}
	return name
}

// nearest returns the name that is fewest changes of a letter away, and how many.
func nearest(column string, names []string) (near string, changes int) {
	changes = -1
	for _, name := range names {
		n := spell.Distance(strings.ToLower(column), strings.ToLower(name))
		if changes < 0 || n < changes {
			near, changes = name, n
		}
	}
	return near, changes
}
