package designs

import "github.com/andonhq/andon/internal/store/cassandrastore/cql"

// indexDesign is the reference's second: a table with one row a device, all of a tenant in one
// partition as the reference has it for many tenants, and an index by state on it, a legacy
// secondary index ("index") or a storage-attached one ("sai").
//
// Partition: one a tenant, so at most 100,000 devices (of some 60 bytes) a tenant. Write: one row
// with every newest entry, and its index entry on each replica. Read: one partition by its index;
// for a list of several states the whole partition. What breaks it: a tenant of more devices is one
// hot partition; a legacy index has a tombstone for each state that a device left.
// scatteredIndexDesign is for such tenants.
type indexDesign struct {
	oneRow
	using string // which kind of index
}

func newIndexDesign(name, using string) indexDesign {
	return indexDesign{oneRow{name, placeKey}, using}
}

func (d indexDesign) Tables() []cql.Table {
	return []cql.Table{
		cql.NewTable(d.name, "The state that a device is in, written at the time of its entry.",
			`(tenant text, device text, key text, PRIMARY KEY (tenant, device))`),
		cql.NewTable(d.name+"_key", "The devices by state.",
			"INDEX ON "+d.name+" (key)"+d.using),
	}
}

func (d indexDesign) FindAll(p Place) []Finding {
	return []Finding{{
		Query: cql.Ask("SELECT device, key FROM "+d.name+" WHERE tenant = ? AND device >= ?", 1),
		Args:  []any{p.Tenant, p.Device}, State: stateOf,
	}}
}

func (d indexDesign) Find(p Place) []Finding {
	args := []any{p.Tenant, placeKey(p), p.Device}
	return []Finding{{Query: IDsFrom(d.name, 1, "tenant", "key"), Args: args}}
}

// The scattered designs have a partition for each device, as the reference has its second and
// fourth: no partition grows with the fleet, and no node is read more than the others. Their rows
// come in the order of tokens, so a page of a list reads all of it.

// scatteredIndexDesign is the reference's second with PRIMARY KEY ((tenant, device)): one row a
// device, and a legacy secondary index by tenant and state, which each node has for its own rows.
//
// Partition: one a device. Write: one row with every newest entry, and its index entry on each
// replica. Read: all nodes, by their indexes, all devices of the state for each page; for a list of
// several states, all devices of all tenants. What breaks it: lists that are read often; and the
// index has a state of a tenant in one partition on each node, with a tombstone for each device
// that left it within gc_grace.
type scatteredIndexDesign struct{ oneRow }

func newScatteredIndexDesign() scatteredIndexDesign {
	return scatteredIndexDesign{oneRow{"latest_state_indexed", scatteredKey}}
}

func (scatteredIndexDesign) Tables() []cql.Table {
	return []cql.Table{
		cql.NewTable("latest_state_indexed",
			"The state that a device is in, written at the time of its "+
				"entry: the key of the state, and the tenant.",
			`(tenant text, device text, key text, PRIMARY KEY ((tenant, device)))`),
		cql.NewTable("latest_state_indexed_key", "The devices by tenant and state.",
			"INDEX ON latest_state_indexed (key)"),
	}
}

// scatteredKey is the key of a state with its tenant. A state has no zero byte, so of two states at
// one instant the one that comes later in the log still has the greater bytes.
func scatteredKey(p Place) string { return stateKey(p.Severity, p.State) + "\x00" + p.Tenant }

func (scatteredIndexDesign) Find(p Place) []Finding {
	return []Finding{{
		Query: cql.Ask("SELECT device, key, tenant FROM latest_state_indexed WHERE key = ?", 0),
		Args:  []any{scatteredKey(p)}, State: stateOf, Scattered: true,
	}}
}

func (scatteredIndexDesign) FindAll(Place) []Finding {
	return wholeTable("SELECT device, key, tenant FROM latest_state_indexed", stateOf)
}
