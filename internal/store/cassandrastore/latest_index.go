package cassandrastore

// indexDesign is the reference's second: a table with one row a device, all of a tenant in one
// partition as the reference has it for many tenants, and an index by state on it, a legacy
// secondary index ("index") or a storage-attached one ("sai").
//
// Partition: one a tenant, so at most 100,000 devices (of some 60 bytes) a tenant. Write: one row
// with every newest entry, and the index beside it on each replica. Read: one partition by its
// index; for a list of several states the whole partition. What breaks it: a tenant of more devices
// is one hot partition; a legacy index leaves tombstones behind states that devices leave.
// scatteredIndexDesign is for such tenants.
type indexDesign struct {
	oneRow
	using string // which kind of index
}

func newIndexDesign(name, using string) indexDesign {
	return indexDesign{oneRow{name, placeKey}, using}
}

func (d indexDesign) tables() []table {
	return []table{
		{d.name, "The state that a device is in, written at the time of its entry.",
			`(tenant text, device text, key text, PRIMARY KEY (tenant, device))`},
		{d.name + "_key", "The devices by state.",
			"INDEX ON " + d.name + " (key)" + d.using},
	}
}

func (d indexDesign) findAll(p place) []finding {
	return []finding{{
		question{"SELECT device, key FROM " + d.name + " WHERE tenant = ? AND device >= ?", 1},
		[]any{p.tenant, p.device}, withKey,
	}}
}

func (d indexDesign) find(p place) []finding {
	args := []any{p.tenant, placeKey(p), p.device}
	return []finding{{idsFrom(d.name, 1, "tenant", "key"), args, idsOnly}}
}
