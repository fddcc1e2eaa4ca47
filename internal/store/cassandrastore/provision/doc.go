// Package provision makes a keyspace, checks one, and diagnoses one.
//
// Init makes the keyspace, the tables of Tables and those of the design, or what is missing of
// them, and then writes the Settings, so that settings say that everything is there. Each statement
// may be repeated, and each is reported before it is run, which is all that a dry run does: it
// works without a cluster, too, for one that is yet to come.
//
// Settings are what all processes of a keyspace have to agree on: the retention by which Cassandra
// lets rows expire, the layout of lists by state, and how long after a change a device is reviewed.
// They are one JSON text in a table, changed by compare-and-swap. Every process reads them again
// each second, so that a rebuild of the lists needs no restart. Load reads them at the start, and
// refuses a keyspace of another schema, options that differ from the settings, consistencies that
// the replication can't meet, and missing tables, each with what to do.
//
// Tables is the schema. The comment of a table is stored in the schema as well. Write timestamps
// matter as much as columns, so the comments say what they are. One retention for the whole
// keyspace gives TTLs and time windows: Cassandra then drops whole SSTables.
//
// A Diagnosis reports facts about the cluster and the keyspace with advice, for andon doctor.
//
// The package knows no events and sends none of the statements of a running store.
package provision
