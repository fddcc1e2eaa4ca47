package provision

import (
	"slices"

	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
)

// Tables is the schema.
func Tables() (all []cql.Table) {
	for _, d := range slices.Concat(types(), tenantTables(), recordTables(), logTables(),
		indexTables(), processTables()) {
		all = append(all, cql.NewTable(d.name, d.what, d.cql))
	}
	return all
}

type def struct{ name, what, cql string }

// types are for values of several parts that stay whole.
func types() []def {
	return []def{
		{"entry", "", "TYPE (delivery bigint, operator text, message text, attributes text)"},
		{"record", "", "TYPE (escalated_by text, note text)"},
		{"assigned", "", "TYPE (delivery bigint, since bigint, operator text)"},
		{"reading", "", "TYPE (delivery bigint, metrics frozen<map<text, double>>, metadata text)"},
	}
}

func tenantTables() []def {
	return []def{
		{"purges", "Former keys of tenants, of which rows may be left; and of " +
			"devices, each after the key of its tenant and a zero byte.",
			`(part text, tenant text, PRIMARY KEY (part, tenant))`},
		{"purged_devices", "The devices that were purged, by when, and how many keys each had " +
			"had then.",
			`(tenant text, at bigint, device text, before int, PRIMARY KEY (tenant, at, device))
  WITH CLUSTERING ORDER BY (at DESC, device ASC)`},
		{"devices_by_tenant", "The devices that anything is kept of, in 16 buckets.",
			`(tenant text, bucket int, device text, PRIMARY KEY ((tenant, bucket), device))`},
	}
}

// recordTables: a tombstone of an index row need not be kept for long, since a row that comes back
// leads to nothing.
func recordTables() []def {
	return []def{
		{"records", "Versioned JSON documents, each a partition, written by compare-and-swap; " +
			"tenants are those of kind tenant that belong to none. A deleted one keeps its " +
			"version for a day. A deleted tenant keeps its row for ever, with the number of its " +
			"former keys in due, so that the next one has another key.",
			`(tenant text, kind text, id text, version bigint, due bigint, data text,
  PRIMARY KEY ((tenant, kind, id)))`},
		{"records_by_kind", "Records that may be there, in 16 buckets, written at their version.",
			`(tenant text, kind text, bucket int, id text,
  PRIMARY KEY ((tenant, kind, bucket), id)) WITH CLUSTERING ORDER BY (id ASC)
  AND gc_grace_seconds = 3600`},
		{"due_by_slot", "Records that may be due, by five minutes and 16 shards, written at " +
			"their version.",
			`(kind text, slot int, shard int, due bigint, tenant text, id text, version bigint,
  PRIMARY KEY ((kind, slot, shard), due, tenant, id))
  WITH CLUSTERING ORDER BY (due ASC, tenant ASC, id ASC) AND gc_grace_seconds = 3600`},
		{"due_slots", "Which partitions of due_by_slot exist.",
			`(kind text, slot int, shard int, version bigint, PRIMARY KEY (kind, slot, shard))
  WITH CLUSTERING ORDER BY (slot ASC, shard ASC) AND gc_grace_seconds = 3600`},
	}
}

// logTables are the truth, and the readings.
func logTables() []def {
	return []def{
		{"events_by_device", "The log: a row for each entry (at is 0), and next to it one for " +
			"each of its escalations and for its withdrawal (at is negative). Written at " +
			"the time of the delivery, kept until the " +
			"retention is over.",
			`(tenant text, device text, day int, shard int,
  time bigint, state text, at bigint, supervisor text,
  entry frozen<entry>, record frozen<record>,
  PRIMARY KEY ((tenant, device, day, shard), time, state, at, supervisor))
  WITH CLUSTERING ORDER BY (time DESC, state ASC, at DESC, supervisor ASC)
  AND compaction = {'class': 'TimeWindowCompactionStrategy',
    'compaction_window_unit': 'DAYS', 'compaction_window_size': 1}`},
		{"latest_by_device", "The newest entry of each state of a device, written at the entry's " +
			"time, and a row for each entry that was withdrawn, with the newest one before it. " +
			"What is static is of the device: each at the time that it is ordered by.",
			`(tenant text, device text, state text,
  time bigint, entry frozen<entry>,
  heard bigint STATIC, retired bigint STATIC, assigned frozen<assigned> STATIC,
  run blob STATIC, incident blob STATIC, shards int STATIC,
  escalated bigint STATIC, escalation blob STATIC, withdrawn bigint STATIC,
  pending blob STATIC, logged blob STATIC,
  PRIMARY KEY ((tenant, device), state))`},
		{"changes", "The feed of each tenant: numbered items, each with the changes of one or " +
			"more requests, 1,000 in a partition; a part named by the tenant alone has a mark " +
			"for each of those. Each is inserted if there is none of its number.",
			`(part text, number bigint, at bigint, expires bigint, data blob,
  PRIMARY KEY (part, number))
  WITH CLUSTERING ORDER BY (number ASC) AND gc_grace_seconds = 3600`},
		{"escalations_by_day", "The escalations once more, by the UTC day on which they were " +
			"made, for the present incident: they outlive the log.",
			`(tenant text, device text, day int,
  at bigint, time bigint, state text, supervisor text, record frozen<record>,
  PRIMARY KEY ((tenant, device, day), at, time, state, supervisor))
  WITH CLUSTERING ORDER BY (at DESC, time DESC, state ASC, supervisor ASC)`},
		{"retirements_by_device", "When a device was retired, each time.",
			`(tenant text, device text, at bigint, PRIMARY KEY ((tenant, device), at))`},
		{"assignments_by_device", "Who was assigned, and from when on.",
			`(tenant text, device text, since bigint, operator text,
  PRIMARY KEY ((tenant, device), since)) WITH CLUSTERING ORDER BY (since DESC)`},
		{"readings_by_device", "The readings: a row for each message, with a hash of " +
			"what it says. Those of one time are joined at reading, by their deliveries.",
			`(tenant text, device text, day int, shard int, time bigint, message blob,
  reading frozen<reading>,
  PRIMARY KEY ((tenant, device, day, shard), time, message))
  WITH CLUSTERING ORDER BY (time DESC, message ASC)
  AND compaction = {'class': 'TimeWindowCompactionStrategy',
    'compaction_window_unit': 'DAYS', 'compaction_window_size': 1}`},
	}
}

func indexTables() []def {
	return []def{
		{"directory", "Which partitions exist. Of kind device and reading, by id the device: " +
			"unit is the UTC day, and label for entries the state. Of kind operator, " +
			"supervisor and escalation: unit is the UTC hour, or the UTC day. Of kind names, by " +
			"id what they are of: each label is a name.",
			`(tenant text, kind text, id text, unit int, shard int, label text,
  PRIMARY KEY ((tenant, kind, id), unit, shard, label))
  WITH CLUSTERING ORDER BY (unit DESC, shard ASC, label ASC)`},
		{"hints_by_operator", "Devices that may have entries of an operator in a UTC hour.",
			`(tenant text, operator text, hour int, device text,
  PRIMARY KEY ((tenant, operator, hour), device))`},
		{"devices_by_operator", "Devices that an operator may be responsible for now.",
			`(tenant text, operator text, device text, PRIMARY KEY ((tenant, operator), device))`},
		{"hints_by_supervisor", "Entries of a UTC day that may be escalated to a supervisor.",
			`(tenant text, supervisor text, day int, time bigint, state text, device text,
  PRIMARY KEY ((tenant, supervisor, day), time, state, device))
  WITH CLUSTERING ORDER BY (time DESC, state ASC, device ASC)`},
		{"devices_by_metric", "Devices that may have a metric, in 16 buckets.",
			`(tenant text, metric text, bucket int, device text,
  PRIMARY KEY ((tenant, metric, bucket), device))`},
	}
}

func processTables() []def {
	return []def{{"processes", "The processes that write. Each counts up its heartbeat, and says " +
		"for how many µs it may assume that it is the only one.",
		`(part text, id text, beat bigint, trust bigint, PRIMARY KEY (part, id))`}}
}

// settingsTable is made first. Its row, which is written last, says that everything is there.
const settingsTable = `(name text PRIMARY KEY, value text)`
