package designs

import "github.com/andonhq/andon/internal/store/cassandrastore/cql"

// viewDesign is the reference's first: a table with one row a device, and a materialized view of it
// by state.
//
// Partition: one a tenant and state, so at most 100,000 devices (of some 60 bytes) in a state.
// Write: one row with every newest entry, and for the view a read before it and two writes after
// it, on each replica. Read: one partition. What breaks it: views must be enabled in cassandra.yaml
// and are experimental; they follow the table a moment later, and only a repair or a rebuild fixes
// a view that lost a write; a device that moves between two states of one list while that list is
// read may be left out of it.
type viewDesign struct{ oneRow }

func newViewDesign() viewDesign { return viewDesign{oneRow{"latest_state"}} }

func (viewDesign) Tables() []cql.Table {
	return []cql.Table{
		cql.NewTable("latest_state",
			"The state that a device is in, written at the time of its entry.",
			`(tenant text, device text, key text, PRIMARY KEY ((tenant, device)))`),
		cql.NewTable("latest_state_view", "The devices by state.",
			`MATERIALIZED VIEW AS SELECT tenant, key, device FROM latest_state
  WHERE tenant IS NOT NULL AND key IS NOT NULL AND device IS NOT NULL
  PRIMARY KEY ((tenant, key), device)`),
	}
}

func (viewDesign) Find(p Place) []Finding {
	args := []any{p.Tenant, placeKey(p), p.Device}
	return []Finding{{Query: IDsFrom("latest_state_view", 2, "tenant", "key"), Args: args}}
}
