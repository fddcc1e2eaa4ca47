package mapping

import (
	_ "embed"
	"strings"

	"github.com/andonhq/andon"
)

// tablesText has a line for each state of a shipped table: the table, a state of Andon's default
// set, and the names that mean it, in lower case. The numbers of PackML are those of its state
// machine (ISA-TR88.00.02), those of Nagios its exit codes.
//
//go:embed tables.txt
var tablesText string

// TableRow is what some names of a shipped table of states become.
type TableRow struct {
	Table string      `json:"table"`
	State andon.State `json:"state"`
	Names string      `json:"names"` // joined by commas
}

// Tables lists the shipped tables.
func Tables() (rows []TableRow) {
	for line := range strings.Lines(tablesText) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		rows = append(rows, TableRow{f[0], andon.State(f[1]), f[2]})
	}
	return rows
}

// shipped returns the states of a shipped table by name, nil where there is none, and the names of
// all tables.
func shipped(name string) (states map[string]andon.State, all []string) {
	for _, row := range Tables() {
		if all = append(all, row.Table); row.Table != name {
			continue
		}
		if states == nil {
			states = map[string]andon.State{}
		}
		for of := range strings.SplitSeq(row.Names, ", ") {
			states[of] = row.State
		}
	}
	return states, all
}
