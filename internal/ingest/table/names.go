package table

import (
	"slices"
	"strings"
)

// Guess is a column that was taken for a field that no column was named for.
type Guess struct{ Field, Column string }

// usualNames are what other programs call the fields, the likelier first: the columns of SQL
// tables, the attributes of the device state log in DynamoDB, the exports of ThingsBoard. Case and
// characters other than letters and digits are ignored.
var usualNames = map[string][]string{
	"device": {"device", "deviceid", "devicename", "unit", "unitid", "machine", "machineid",
		"asset", "assetid", "entityname", "entityid", "equipment", "equipmentid"},
	"time": {"time", "timestamp", "ts", "eventtime", "occurredat", "createdat", "recordedat",
		"changedat", "datetime", "date", "starttime", "at"},
	"state":        {"state", "status", "devicestate", "devicestatus", "statename"},
	"operator":     {"operator"},
	"message":      {"message", "msg"},
	"escalated_to": {"escalatedto"},
}

// guess fills in the fields that no column was named for, as far as the file has a column of a
// usual name that nothing else uses. A field whose very name is there takes that.
func (m *Mapping) guess(have *columns, fields []field) (guesses []Guess) {
	used := usedBy(slices.Concat(m.eventFields(), m.readingFields()))
	for _, f := range fields {
		if have.contains(f.name) || !slices.Contains(m.Unnamed, f.name) {
			continue
		}
		if column := have.usual(f.name, used); column != "" {
			*f.columns = []string{column}
			used = append(used, column)
			guesses = append(guesses, Guess{f.name, column})
		}
	}
	return guesses
}

// usual returns the column that has the likeliest of a field's usual names; "" where none has one.
func (c *columns) usual(field string, used []string) string {
	for _, name := range usualNames[field] {
		for _, column := range c.names {
			if plainName(column) == name && !slices.Contains(used, column) {
				return column
			}
		}
	}
	return ""
}

// plainName is a column's name as usualNames has it. In DynamoDB's own JSON an attribute is
// "Item.DeviceID.S".
func plainName(column string) string {
	if item, ok := strings.CutPrefix(column, "Item."); ok {
		column = strings.TrimSuffix(strings.TrimSuffix(item, ".S"), ".N")
		if column == item {
			return ""
		}
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r == '.': // a member of an object within is another thing
			return r
		}
		return -1
	}, column)
}
