package dynamostore

import "github.com/andonhq/andon/internal/store/dynamostore/ddb"

// The names of the reference's model, and of the guide to time series.
const (
	attrDevice    = "DeviceID"
	attrStateDate = "State#Date"
	attrOperator  = "Operator"
	attrDate      = "Date"
	attrEscalated = "EscalatedTo"
	attrTTL       = "ttl"
	attrReadingOf = "deviceId"
	attrTimestamp = "timestamp"

	tableLog      = "DeviceStateLog"
	tableDevices  = "Devices"
	tableReadings = "Readings"
	tableRecords  = "Records"

	indexOperator   = "GSI1"
	indexSupervisor = "GSI2"
	indexList       = "ByState"
	indexAnswers    = "ByOperator"
	indexEscalated  = "BySupervisor"
	indexDue        = "Due"
)

// andonTables returns the tables of the layout andon, without the settings' optional indexes.
func andonTables() []ddb.Table {
	return []ddb.Table{
		{
			Name: tableLog, Key: logKeys(), TTL: attrTTL,
			What: "The log: an item for each entry, and in partitions of their own the " +
				"escalations, of which only the newest is in GSI2.",
			Indexes: []ddb.Index{
				{Name: indexOperator, Key: ddb.Keys{Hash: attrOperator, Sort: attrDate}, All: true,
					What: "Entries of an operator by time."},
				{Name: indexSupervisor, All: true,
					Key:  ddb.Keys{Hash: attrEscalated, Sort: attrStateDate},
					What: "Entries that are escalated to a supervisor now, by state and time."},
			},
		},
		{
			Name: tableDevices, Key: ddb.Keys{Hash: attrDevice}, TTL: attrTTL,
			What: "What each device shows now. Every put has a condition on the version. Of a " +
				"purged device an empty item stays for a day.",
			Indexes: []ddb.Index{
				{Name: indexList, Projects: []string{attrSince},
					Key:  ddb.Keys{Hash: attrList, Sort: attrID},
					What: "Devices in a state, in buckets. A repeated state does not write to it."},
				{Name: indexAnswers, Key: ddb.Keys{Hash: attrAnswers, Sort: attrID},
					What: "Devices of an operator."},
				{Name: indexEscalated, Key: ddb.Keys{Hash: attrEscalated, Sort: attrID},
					What: "Devices that are escalated to a supervisor."},
			},
		},
		{
			Name: tableReadings, Key: readingKeys(), TTL: attrTTL,
			What: "The readings: an item for each message. Those of one time are joined at read.",
		},
		{
			Name: tableRecords, Key: recordKeys(), TTL: attrTTL,
			What: "Versioned documents, assignments, retirements, withdrawals, and the names in " +
				"use. What expires is what is left of deleted documents.",
			Indexes: []ddb.Index{
				{Name: indexDue, Key: ddb.Keys{Hash: attrDueIn, Sort: attrDueAt},
					What: "Records that are due."},
			},
		},
	}
}
