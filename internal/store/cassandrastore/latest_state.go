package cassandrastore

import "github.com/andonhq/andon"

// stateDesign is the reference's third: a partition for each state.
//
// Partition: one a tenant and state, so at most 100,000 devices (of some 50 bytes) in a state.
// Write: one row at a change, and one deleted later. Read: one partition, and a tombstone for each
// device that left the state within gc_grace. What breaks it: NORMAL of a large fleet is one hot
// partition.
type stateDesign struct{}

func (stateDesign) tables() []table {
	return []table{{"latest_by_state", "Devices that may be in a state, written at the time of " +
		"their entry.",
		`(tenant text, state text, device text, PRIMARY KEY ((tenant, state), device))`}}
}

func (stateDesign) rowADevice() bool { return false }

func (stateDesign) add(p place) mutation {
	return mutation{{
		"INSERT INTO latest_by_state (tenant, state, device) VALUES (?, ?, ?) USING TIMESTAMP ?",
		[]any{p.tenant, string(p.state), p.rowInState(), int64(p.at)},
	}}
}

func (stateDesign) remove(p place) []mutation {
	return []mutation{{{
		"DELETE FROM latest_by_state USING TIMESTAMP ? " +
			"WHERE tenant = ? AND state = ? AND device = ?",
		[]any{int64(p.at), p.tenant, string(p.state), p.rowInState()},
	}}}
}

func (d stateDesign) retire(p place, states []andon.State) []mutation {
	return removeAll(d, p, states)
}

func (stateDesign) find(p place) []finding {
	return []finding{{
		question{
			"SELECT device FROM latest_by_state WHERE tenant = ? AND state = ? AND device >= ?", 2,
		},
		[]any{p.tenant, string(p.state), p.device}, idsOnly,
	}}
}
