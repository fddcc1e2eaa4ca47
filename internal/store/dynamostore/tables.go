package dynamostore

// table is one table as data: what makes, checks and prints it goes by this. All keys are strings.
type table struct {
	name    string // behind the prefix
	what    string
	key     keys
	ttl     string // attribute by which items expire, in epoch seconds; "" for none
	indexes []index
}

// keys are the names of the attributes of a primary key.
type keys struct{ hash, sort string }

// index is a global secondary index. An item is in it only where it has both keys.
type index struct {
	name     string
	what     string
	key      keys
	projects []string // beside the keys; nil: keys only
	all      bool     // projects all attributes
}

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

// tablesOf are the tables of the layout andon.
func tablesOf() []table {
	return []table{
		{
			name: tableLog, key: keys{attrDevice, attrStateDate}, ttl: attrTTL,
			what: "The log: an item for each entry, and beside them, in partitions of their own, " +
				"the escalations, of which the one that counts alone is in GSI2.",
			indexes: []index{
				{name: indexOperator, key: keys{attrOperator, attrDate}, all: true,
					what: "Entries of an operator by time."},
				{name: indexSupervisor, key: keys{attrEscalated, attrStateDate}, all: true,
					what: "Entries that are escalated to a supervisor now, by state and time."},
			},
		},
		{
			name: tableDevices, key: keys{hash: attrDevice}, ttl: attrTTL,
			what: "What each device shows now. Every put has a condition on the version. Of a " +
				"purged device an empty item stays for a day.",
			indexes: []index{
				{name: indexList, key: keys{attrList, attrID}, projects: []string{attrSince},
					what: "Devices in a state, in buckets. A repeated state does not write to it."},
				{name: indexAnswers, key: keys{attrAnswers, attrID},
					what: "Devices of an operator."},
				{name: indexEscalated, key: keys{attrEscalated, attrID},
					what: "Devices that are escalated to a supervisor."},
			},
		},
		{
			name: tableReadings, key: keys{attrReadingOf, attrTimestamp}, ttl: attrTTL,
			what: "The readings: an item for each message. Those of one time are joined at read.",
		},
		{
			name: tableRecords, key: recordKeys(), ttl: attrTTL,
			what: "Versioned documents, assignments, retirements, withdrawals, and the names in " +
				"use. What expires is what is left of deleted documents.",
			indexes: []index{
				{name: indexDue, key: keys{attrDueIn, attrDueAt}, what: "Records that are due."},
			},
		},
	}
}
