package cassandrastore

import (
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// tablesDesign is the reference's fourth: a table for each state that was declared when the design
// was chosen, and one for the rest.
//
// Partition: one a tenant in each table, so at most 100,000 devices (of some 40 bytes) in a state.
// Write: one row at a change, and one deleted later. Read: one partition, and a tombstone for each
// device that left the state within gc_grace. What breaks it: what breaks "state"; and a table is
// memory on every node, so states must be few. States that are declared later are in the table of
// the rest until the design is rebuilt.
type tablesDesign struct{ stateTables }

func newTablesDesign(states []andon.State) tablesDesign {
	return tablesDesign{newStateTables("latest_in_", states)}
}

// stateTables are index rows in a table for each state, and in one for the rest.
type stateTables struct {
	inStates
	prefix string // of the names of the tables
	states []andon.State
}

func newStateTables(prefix string, states []andon.State) stateTables {
	t := stateTables{prefix: prefix, states: states}
	own := map[andon.State]*stateRows{}
	for _, state := range states {
		own[state] = newStateRows(t.of(state), 1, "tenant")
	}
	rest := newStateRows(t.rest(), 1, "tenant", "state")
	t.at = func(p place) (*stateRows, []any) {
		if rows := own[p.state]; rows != nil {
			return rows, []any{p.tenant}
		}
		return rest, []any{p.tenant, string(p.state)}
	}
	return t
}

// of names the table of a state that has one of its own.
func (t stateTables) of(state andon.State) string { return t.prefix + plain(state) }

func (t stateTables) rest() string { return t.prefix + "other_states" }

var plainName = regexp.MustCompile(`^[a-z0-9]{1,20}$`)

// plain is a part of a name for a state.
func plain(state andon.State) string {
	name := strings.ToLower(string(state))
	if !plainName.MatchString(name) || name != strings.ToLower(strings.ToUpper(name)) {
		name = "x" + hex.EncodeToString([]byte(state))
		name = name[:min(len(name), 34)] // a name of a table has 48 letters
	}
	return name
}

// ownTables leaves out states whose tables would have one name; they go to the rest.
func ownTables(states []andon.State) (own []andon.State) {
	names := []string{}
	for _, state := range states {
		if name := plain(state); !slices.Contains(names, name) {
			own, names = append(own, state), append(names, name)
		}
	}
	return own
}

func (d tablesDesign) tables() []table {
	all := []table{{d.rest(), "Devices that may be in a state without a table of its own.",
		`(tenant text, state text, device text, PRIMARY KEY (tenant, state, device))`}}
	for _, state := range d.states {
		all = append(all, table{d.of(state), "Devices that may be in that state.",
			`(tenant text, device text, PRIMARY KEY (tenant, device))`})
	}
	return all
}
