// Package designs finds the devices that are in a state, in the five ways of the reference, one of
// which has a variant:
//
//	view       a materialized view by state of a table with one row a device
//	index      a secondary index on such a table, a partition for each tenant
//	sai        a storage-attached index in place of the secondary one
//	state      a partition for each state
//	tables     a table for each state
//	buckets    a number of partitions for each state; the default
//
// The rows of a design are index rows. They lead to devices, and the truth about a device is its
// partition in latest_by_device, which exists under every design: each device that a design finds
// is checked against it, so a stale row is never visible and costs one read. A missing row would be
// a wrong answer. So rows are written before an event is acknowledged, and deleted only when no
// process can rely on them any more.
//
// A row is written at the time of the entry that it is of, in microseconds, and deleted at a time
// just before the entry that replaces it. So writes and deletions may arrive in any order, and a
// device that returns to a state is found. Where a device has one row, which names its state
// (Design.OneRow), the row is written with every newest entry, and the greater bytes of two entries
// at one instant win: the key of a state begins with its severity. Where a device has a row in each
// state, one is written at each change, and the former one is deleted later.
//
// The comment of each design says how large a partition gets, what a write and a read cost, and
// what breaks it. The planner reads the same from the statements that a design returns.
//
// A design returns statements and queries, and sends none. It knows neither the tables of other
// data nor which process writes.
package designs
