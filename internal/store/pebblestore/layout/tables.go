package layout

// Describe says in a few words what a table has.
func Describe(table byte) string {
	return map[byte]string{
		TableRow:          "rows of requests: newest entries and order of arrival",
		TableBlock:        "blocks",
		TableRun:          "runs of days",
		TableDay:          "days of devices",
		TableEscalation:   "escalations",
		TablePosting:      "postings",
		TableSupervisor:   "entries of supervisors",
		TableReading:      "readings",
		TableReadingBlock: "blocks of readings",
		TableReadingRun:   "runs of days with readings",
		TableReadingDay:   "days with readings",
		TableMetric:       "metrics of devices",
		TableAssignment:   "assignments",
		TableWithdrawal:   "withdrawals",
		TableRetirement:   "retirements",
		TableStateSeen:    "states with entries",
		TableDocument:     "records",
		TableDue:          "records that are due",
		TableCheckpoint:   "checkpoints of devices",
		TableChange:       "changes",
	}[table]
}
