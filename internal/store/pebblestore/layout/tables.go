package layout

// Describe says in a few words what a table has.
func Describe(table byte) string {
	switch table {
	case TableRow:
		return "rows of requests: newest entries and order of arrival"
	case TableBlock:
		return "blocks"
	case TableRun:
		return "runs of days"
	case TableDay:
		return "days of devices"
	case TableEscalation:
		return "escalations"
	case TablePosting:
		return "postings"
	case TableSupervisor:
		return "entries of supervisors"
	case TableReading:
		return "readings"
	case TableReadingBlock:
		return "blocks of readings"
	case TableReadingRun:
		return "runs of days with readings"
	case TableReadingDay:
		return "days with readings"
	case TableMetric:
		return "metrics of devices"
	case TableAssignment:
		return "assignments"
	case TableWithdrawal:
		return "withdrawals"
	case TableRetirement:
		return "retirements"
	case TableStateSeen:
		return "states with entries"
	case TableDocument:
		return "records"
	case TableDue:
		return "records that are due"
	case TableCheckpoint:
		return "checkpoints of devices"
	case TableChange:
		return "changes"
	}
	return ""
}
