package table

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Profiles returns the rows as changes of profiles. A row changes the fields that it names, and
// names its device where no device is given. In JSON null takes a field away, in CSV an empty cell.
// The error is that no column names the devices.
func (t *Table) Profiles(of andon.DeviceID) (Items[andon.ProfileChange], error) {
	var columns []string
	if of == "" {
		err := t.bind([]field{{name: "device", columns: &columns, required: true}})
		if err != nil {
			return nil, err
		}
	}
	return ItemsOf(t, func(row *Row) (c andon.ProfileChange, err error) {
		if c.Device = of; of == "" {
			c.Device = andon.DeviceID(joined(row, columns, "/"))
		}
		for name := range jsonscan.Members(row.object) { // none in CSV
			if !slices.Contains(andon.ProfileFieldNames[:], name) && name != "device" {
				return c, fmt.Errorf("there is no field %s in a profile", shown(name))
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

// profileField reads the n-th field of a profile, if the row names it.
func (r *Row) profileField(c *andon.ProfileChange, n int) error {
	name := andon.ProfileFieldNames[n]
	v, there := r.value(name)
	switch {
	case !there && !slices.Contains(r.header, name):
		return nil
	case v.isJSON && v.text == `""`:
		return fmt.Errorf("%s is missing; null takes it away", name)
	}
	c.Fields |= 1 << n
	if !there {
		return nil
	}
	text := v.json()
	if name == "labels" || name == "location" {
		text = v.text // the cell of CSV is JSON, too
	}
	if err := json.Unmarshal([]byte(text), c.Field(n)); err != nil {
		return wrong(name, err)
	}
	return nil
}
