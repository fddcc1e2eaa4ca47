package table

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/spell"
)

// Mapping says which columns make an event, a reading or an assignment. A column that is written
// "=text" is that text in every row. Several columns of one field are joined by "/", those of a
// time by a space, since date and time of day often have a column each; those that are empty in a
// row are left out.
//
// A field whose columns are nil takes the column of its very name, else one with a usual name, if
// the file has one that no other field uses. One whose columns are empty and not nil is left out.
type Mapping struct {
	Device      []string
	Time        []string
	State       []string
	Operator    []string
	Message     []string
	EscalatedTo []string

	// Attributes of events, Metrics and Metadata of readings: each column is one member. "data.*"
	// is every column that begins with "data.", and every member of the object in the column
	// "data". A member is named as its column; in JSON by what follows the last dot. A column
	// that has the name of its field and whose value is an object, or a string that has the text of
	// one, is not a member: its members are.
	Attributes []string
	Metrics    []string
	Metadata   []string

	// End is when the state of a row is over; a row whose End is empty or "-" goes on. EndState is
	// what a device is in when none of its rows goes on. Of several that go on the severest by
	// Severity counts, or the one that began last where Severity is nil.
	End      []string
	EndState andon.State
	Severity func(andon.State) uint8

	// used are the columns of all fields, of JSON whose attributes no column was named for: members
	// that no field has are attributes then, as they are over HTTP.
	used []string

	States       map[string]string // what a state of the file is called here; others stay
	DecimalComma bool              // metrics are written as 21,5
	Precision    andon.Precision   // of times that are numbers; the zero value is microseconds
	Zone         *time.Location    // of times that name none; nil is UTC
	Dates        DateOrder         // of dates such as 05/11/2026
}

// Columns of these names may hold a whole object.
const (
	columnAttributes = "attributes"
	columnMetrics    = "metrics"
	columnMetadata   = "metadata"
)

// usualNames are what other programs call the fields, the likelier first: the columns of SQL
// tables, the attributes of the device state log in DynamoDB, the exports of ThingsBoard. Case and
// characters other than letters and digits are ignored.
var usualNames = map[string][]string{
	"device": {"device", "deviceid", "devicename", "unit", "unitid", "machine", "machineid",
		"asset", "assetid", "entityname", "entityid", "equipment", "equipmentid"},
	"time": {"time", "timestamp", "ts", "eventtime", "occurredat", "createdat", "recordedat",
		"changedat", "datetime", "date", "starttime", "at"},
	"state":          {"state", "status", "devicestate", "devicestatus", "statename"},
	"operator":       {"operator"},
	"message":        {"message", "msg"},
	"escalated_to":   {"escalatedto"},
	columnAttributes: {columnAttributes},
}

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

func (m *Mapping) assignmentFields() []field {
	return []field{
		{name: "device", columns: &m.Device, required: true},
		{name: "operator", columns: &m.Operator, required: true},
	}
}

func (t *Table) bind(fields []field) error {
	var used []string
	for _, f := range fields {
		used = append(used, *f.columns...)
	}
	for _, f := range fields {
		if *f.columns == nil {
			if column := t.usual(&f, used); column != "" {
				*f.columns, used = []string{column}, append(used, column)
				if column != f.name {
					t.Guesses = append(t.Guesses, f.name+" from "+shown(column))
				}
			}
		}
		if err := t.check(&f); err != nil {
			return err
		}
	}
	return nil
}

// usual returns the column of a field that no column was named for; "" where there is none. Of JSON
// only the first object is known, so there an optional field is taken from its very name, which may
// come later; and each is, where that object can't be read.
func (t *Table) usual(f *field, used []string) string {
	free := func(column string) bool { return !slices.Contains(used, column) }
	if slices.Contains(t.Columns, f.name) && usualNames[f.name] != nil && free(f.name) {
		return f.name
	}
	for _, name := range usualNames[f.name] {
		for _, column := range t.Columns {
			if plainName(column) == name && free(column) {
				return column
			}
		}
	}
	if !t.header && (!f.required || t.Columns == nil) && usualNames[f.name] != nil && free(f.name) {
		return f.name
	}
	return ""
}

// plainName is a column's name as usualNames has it. In DynamoDB's own JSON an attribute is
// "Item.DeviceID.S". A member of an object within is another thing, so a dot stays.
func plainName(column string) string {
	if item, ok := strings.CutPrefix(column, "Item."); ok {
		column = strings.TrimSuffix(strings.TrimSuffix(item, ".S"), ".N")
		if column == item {
			return ""
		}
	}
	return strings.Map(func(r rune) rune {
		if r != '.' && r < unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, column)
}

// check refuses columns that can't be those of a field, or that a CSV file does not have. Of JSON
// only the first object is known, so there a column may come later.
func (t *Table) check(f *field) error {
	if f.required && len(*f.columns) == 0 {
		return t.missing(f, f.name)
	}
	for _, column := range *f.columns {
		object, many := strings.CutSuffix(column, ".*")
		why := ""
		switch {
		case column == "":
			why = "is empty"
		case f.members && (column[0] == '=' || column == "*" || object == ""):
			why = "has no name"
		case !f.members && many:
			why = "is many columns"
		case t.header && column[0] != '=' && !t.covers(column, object):
			return t.missing(f, column)
		}
		if why != "" {
			return andon.Errorf(andon.Invalid, "%s: the column %s %s", f.name,
				ingest.Clip(column), why)
		}
	}
	return nil
}

// covers reports whether a column is there, or one that begins with the name of an object and a
// dot.
func (t *Table) covers(column, object string) bool {
	return slices.ContainsFunc(t.Columns, func(name string) bool {
		return name == column || object != column &&
			(name == object || strings.HasPrefix(name, object+"."))
	})
}

// missing says that a column is not there, and which are.
func (t *Table) missing(f *field, column string) error {
	const most = 20
	var all []string
	for _, name := range t.Columns[:min(len(t.Columns), most)] {
		all = append(all, shown(name))
	}
	if len(t.Columns) > most {
		all = append(all, "…")
	}
	advice := "--" + strings.ReplaceAll(f.name, "_", "-") + " names the one to take"
	switch {
	case t.header && len(t.Columns) == 1:
		advice = "--delimiter says what is between them, --comments skips lines with # before them"
	case f.name == "state":
		advice += ", or --metrics those of readings"
	}
	return andon.Errorf(andon.Invalid, "%s: there is no column %s%s\nThere are %s; %s", f.name,
		ingest.Clip(column), spell.DidYouMean(column, all), strings.Join(all, ", "), advice)
}

// shown is the name of a column as a terminal can show it.
func shown(name string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if len(name) > 64 || strings.ContainsFunc(name, hidden) {
		return ingest.Clip(name)
	}
	return name
}
