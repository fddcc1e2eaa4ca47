package table

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// IsFlat reports whether the rows are flat items, see jsonfeed.FlatReading, and have no state.
func (t *Table) IsFlat() bool {
	state := field{name: "state", required: true}
	return slices.Contains(t.Columns, jsonfeed.FlatDevice) &&
		slices.Contains(t.Columns, jsonfeed.FlatTime) && t.usual(&state, nil) == ""
}

// FlatReadings returns the rows as readings of flat items. In CSV a cell that is a number is a
// metric, and one that is empty is absent.
func (t *Table) FlatReadings(p andon.Precision) Items[andon.Reading] {
	return ItemsOf(t, func(row *Row) (andon.Reading, error) {
		text := row.object
		if row.header != nil {
			text = row.flatObject()
		}
		return jsonfeed.FlatReading(text, p)
	})
}

// flatObject returns the cells of a row of CSV as the text of a flat item.
func (r *Row) flatObject() string {
	var members []string
	for i, name := range r.header {
		cell := r.cells[i]
		_, err := ingest.ParseMetric(cell)
		isKey := name == jsonfeed.FlatDevice || name == jsonfeed.FlatTime
		switch {
		case cell == "":
			continue
		case isKey || err != nil || !json.Valid([]byte(cell)):
			cell = jsonscan.Quote(cell)
		}
		members = append(members, jsonscan.Quote(name)+":"+cell)
	}
	return "{" + strings.Join(members, ",") + "}"
}
