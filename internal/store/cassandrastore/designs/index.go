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
type indexDesign struct {
	oneRow
	using string // which kind of index
}

func newIndexDesign(name, using string) indexDesign {
	return indexDesign{oneRow{name}, using}
}

func (d indexDesign) Tables() []cql.Table {
	return []cql.Table{
		cql.NewTable(d.name, "The state that a device is in, written at the time of its entry.",
			`(tenant text, device text, key text, PRIMARY KEY (tenant, device))`),
		cql.NewTable(d.name+"_key", "The devices by state.",
			"INDEX ON "+d.name+" (key)"+d.using),
	}
}

func (d indexDesign) FindAll(p Place) Finding {
	return Finding{
		Query: cql.Ask("SELECT device, key FROM "+d.name+" WHERE tenant = ? AND device >= ?", 1),
		Args:  []any{p.Tenant, p.Device}, State: stateOf,
	}
}

func (d indexDesign) Find(p Place) []Finding {
	args := []any{p.Tenant, placeKey(p), p.Device}
	return []Finding{{Query: IDsFrom(d.name, 1, "tenant", "key"), Args: args}}
}
