package items

import (
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// The names of the reference's model, and of the guide to time series.
const (
	AttrDevice    = "DeviceID"
	AttrStateDate = "State#Date"
	AttrOperator  = "Operator"
	AttrDate      = "Date"
	AttrEscalated = "EscalatedTo"
	AttrTTL       = "ttl"
	AttrReadingOf = "deviceId"
	AttrTimestamp = "timestamp"

	TableLog      = "DeviceStateLog"
	TableDevices  = "Devices"
	TableReadings = "Readings"
	TableRecords  = "Records"

	IndexOperator   = "GSI1"
	IndexSupervisor = "GSI2"
	IndexList       = "ByState"
	IndexAnswers    = "ByOperator"
	IndexEscalated  = "BySupervisor"
	IndexDue        = "Due"
)

// AndonTables returns the tables of the layout andon, without the settings' optional indexes.
func AndonTables() []ddb.Table {
	return []ddb.Table{
		{
			Name: TableLog, Key: LogKeys(), TTL: AttrTTL,
			What: "The log: an item for each entry, and in partitions of their own the " +
				"escalations, of which only the newest is in GSI2.",
			Indexes: []ddb.Index{
				{Name: IndexOperator, Key: ddb.Keys{Hash: AttrOperator, Sort: AttrDate}, All: true,
					What: "Entries of an operator by time."},
				{Name: IndexSupervisor, All: true,
					Key:  ddb.Keys{Hash: AttrEscalated, Sort: AttrStateDate},
					What: "Entries that are escalated to a supervisor now, by state and time."},
			},
		},
		{
			Name: TableDevices, Key: ddb.Keys{Hash: AttrDevice}, TTL: AttrTTL,
			What: "What each device shows now. Every put has a condition on the version. Of a " +
				"purged device an empty item stays for a day.",
			Indexes: []ddb.Index{
				{Name: IndexList, Projects: []string{AttrSince},
					Key:  ddb.Keys{Hash: AttrList, Sort: AttrID},
					What: "Devices in a state. A repeated state does not write to it."},
				{Name: IndexAnswers, Key: ddb.Keys{Hash: AttrAnswers, Sort: AttrID},
					What: "Devices of an operator."},
				{Name: IndexEscalated, Key: ddb.Keys{Hash: AttrEscalated, Sort: AttrID},
					What: "Devices that are escalated to a supervisor."},
			},
		},
		{
			Name: TableReadings, Key: ReadingKeys(), TTL: AttrTTL,
			What: "The readings: an item for each message. Those of one time are joined at read.",
		},
		{
			Name: TableRecords, Key: RecordKeys(), TTL: AttrTTL,
			What: "Versioned documents, assignments, retirements, withdrawals, and the names in " +
				"use. What expires is what is left of deleted documents.",
			Indexes: []ddb.Index{
				{Name: IndexDue, Key: ddb.Keys{Hash: AttrDueIn, Sort: AttrDueAt},
					What: "Records that are due."},
			},
		},
	}
}
