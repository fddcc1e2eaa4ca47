package designs

import (
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
)

// tablesDesign is the reference's fourth: a table for each state that was declared when the design
// was chosen, and one for the rest.
//
// Partition: one a tenant in each table, so at most 100,000 devices (of some 40 bytes) in a state.
// Write: one row at a change, and one deleted later. Read: one partition, and a tombstone for each
// device that left the state within gc_grace. What breaks it: what breaks "state"; and a table is
// memory on every node, so states must be few. States that are declared later are in the table of
// the rest until the design is rebuilt.
type tablesDesign struct {
	inStates
	states []andon.State
}

const tableOfRest = "latest_in_other_states"

func newTablesDesign(states []andon.State) tablesDesign {
	t := tablesDesign{states: states}
	own := map[andon.State]*stateRows{}
	for _, state := range states {
		own[state] = newStateRows(t.TableOf(state), 1, "tenant")
	}
	rest := newStateRows(tableOfRest, 1, "tenant", "state")
	t.at = func(p Place) (*stateRows, []any) {
		if rows := own[p.State]; rows != nil {
			return rows, []any{p.Tenant}
		}
		return rest, []any{p.Tenant, string(p.State)}
	}
	return t
}

// TableOf is the table of a state that has one of its own.
func (tablesDesign) TableOf(state andon.State) string { return "latest_in_" + plain(state) }

var plainName = regexp.MustCompile(`^[a-z0-9]{1,20}$`)

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

func (t tablesDesign) Tables() []cql.Table {
	all := []cql.Table{cql.NewTable(
		tableOfRest, "Devices that may be in a state without a table of its own.",
		"(tenant text, state text, device text, PRIMARY KEY (tenant, state, device))")}
	for _, state := range t.states {
		all = append(all, cql.NewTable(t.TableOf(state), "Devices that may be in that state.",
			"(tenant text, device text, PRIMARY KEY (tenant, device))"))
	}
	return all
}
