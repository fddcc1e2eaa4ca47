package designs

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/andonhq/andon"
)

// Layout is a design and its parameters.
type Layout struct {
	Design  string        `json:"design"`
	Buckets string        `json:"buckets,omitempty"` // of "buckets"
	Tables  []andon.State `json:"tables,omitempty"`  // of "tables": the states with their own
}

// Complete fills in the parameters of a design.
func (l *Layout) Complete(buckets string, declared []andon.StateDef) {
	switch l.Design {
	case "buckets":
		if l.Buckets = buckets; buckets == "" {
			l.Buckets = strconv.Itoa(DefaultBuckets)
		}
	case "tables":
		for _, d := range declared {
			l.Tables = append(l.Tables, d.Name)
		}
		slices.Sort(l.Tables)
		l.Tables = ownTables(l.Tables)
	}
}

// Equal reports whether two layouts are the same.
func (l Layout) Equal(o Layout) bool {
	return l.Design == o.Design && l.Buckets == o.Buckets && slices.Equal(l.Tables, o.Tables)
}

// String describes a layout for people.
func (l Layout) String() string {
	switch l.Design {
	case "buckets":
		return "buckets, " + l.Buckets + " of them"
	case "tables":
		return fmt.Sprintf("tables, %d of them and one for the rest", len(l.Tables))
	}
	return l.Design
}
