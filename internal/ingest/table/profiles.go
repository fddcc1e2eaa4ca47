package table

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
	"github.com/andonhq/andon/internal/strictjson"
)

// Profiles returns the rows as changes of profiles. A row changes the fields that it names, and
// names its device; where one is given, no other. In JSON null takes a field away, in CSV an empty
// cell. The error is that no column names the devices, or that none says anything of them.
func (t *Table) Profiles(of andon.DeviceID) (Items[andon.ProfileChange], error) {
	var columns []string
	names := andon.ProfileFieldNames[:]
	if of == "" {
		names = append(slices.Clone(names), "device")
		err := t.bind([]field{{name: "device", columns: &columns, required: true}})
		if err != nil {
			return nil, err
		}
	}
	fields := andon.ProfileFieldNames[:]
	says := func(column string) bool { return slices.Contains(fields, column) }
	if t.header && !slices.ContainsFunc(t.Columns, says) {
		return nil, andon.Errorf(andon.Invalid, "no column is one of %s",
			strings.Join(fields, ", "))
	}
	return ItemsOf(t, func(row *Row) (c andon.ProfileChange, err error) {
		if c.Device = of; of == "" {
			c.Device = andon.DeviceID(joined(row, columns, "/"))
		}
		for name := range jsonscan.Members(row.object) { // none in CSV
			if name != "device" && !slices.Contains(names, name) {
				return c, strictjson.NoField("body", name, names)
			}
		}
		if is, there := row.value("device"); there && of != "" {
			var other andon.DeviceID
			_ = json.Unmarshal([]byte(is.json()), &other) // what is no text is no device
			if other != of {
				return c, andon.AtField("body.device", "device is %s, and the path names %q",
					is.json(), of)
			}
		}
		for n := range andon.ProfileFieldNames {
			if err := row.profileField(&c, n); err != nil {
				return c, err
			}
		}
		return c, c.Validate()
	}), nil
}

// profileForms are what the fields of a profile are in JSON.
var profileForms = [...]string{
	"a string", "a string", "an object of strings", "an object of lat and lon, in degrees",
	"a string",
}

// profileField reads the n-th field of a profile, if the row names it.
func (r *Row) profileField(c *andon.ProfileChange, n int) error {
	name := andon.ProfileFieldNames[n]
	v, there := r.value(name)
	switch {
	case !there && !slices.Contains(r.header, name):
		return nil
	case v.isJSON && v.text == `""`:
		return andon.AtField("body."+name, "%s is missing; null takes it away", name)
	}
	c.Fields |= 1 << n
	if !there {
		return nil
	}
	text := v.json()
	if name == "labels" || name == "location" {
		text = v.text // the cell of CSV is JSON, too
	}
	if json.Unmarshal([]byte(text), c.Field(n)) != nil { // its error shows types of Go
		return andon.AtField("body."+name, "%s is %s", name, profileForms[n])
	}
	return nil
}
