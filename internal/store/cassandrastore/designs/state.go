package designs

import "github.com/andonhq/andon/internal/store/cassandrastore/cql"

// stateDesign is the reference's third: a partition for each state.
//
// Partition: one a tenant and state, so at most 100,000 devices (of some 50 bytes) in a state.
// Write: one row at a change, and one deleted later. Read: one partition, and a tombstone for each
// device that left the state within gc_grace. What breaks it: NORMAL of a large fleet is one hot
// partition.
type stateDesign struct{ inStates }

func newStateDesign() stateDesign {
	rows := newStateRows("latest_by_state", 2, "tenant", "state")
	return stateDesign{inStates{func(p Place) (*stateRows, []any) {
		return rows, []any{p.Tenant, string(p.State)}
	}}}
}

func (stateDesign) Tables() []cql.Table {
	return []cql.Table{cql.NewTable(
		"latest_by_state", "Devices that may be in a state, written at the time of "+
			"their entry.",
		`(tenant text, state text, device text, PRIMARY KEY ((tenant, state), device))`)}
}
