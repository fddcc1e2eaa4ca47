// Package rows has the rows of the store: the bytes of each value, the statements that write them,
// and the queries that read the log, the readings, the assignments and the escalations.
//
// A Reader reads rows of one tenant, by device or by person. It joins what merges at reading: the
// rows of one entry, which are the entry, its escalations and its withdrawal; the messages of one
// time, which are one reading; the assignments that say who is responsible for an entry. It goes
// through the partitions that the directory names, so it never reads a partition that does not
// exist.
//
// Writes merge in any order and any number of times, because each cell is written at the timestamp
// that orders it: the time of the entry for what is newest, the delivery for the content of an
// entry. At equal timestamps Cassandra keeps the greater bytes. So bytes begin with the value that
// decides, and a value of several parts is one cell. The layout of each value is drawn where it is
// encoded (values.go, escalations.go, readings.go).
//
// An Index gathers the index rows of a request: the directory of partitions, and the devices or
// entries that an operator, a supervisor, a state or a metric may have. What this process has
// written before is left out, by a filter of fixed size. Index rows are written before the request
// is acknowledged. A stale one does no harm: each hit is checked against the log or the device.
//
// Tenants and devices have keys of their own here (TenantKey, DeviceKey). When one is deleted and
// comes back it has another key, so it never meets what is left of before. Package cassandrastore
// translates between ids and keys.
//
// The package writes nothing by itself but index rows, and knows neither what a device shows now
// nor other processes.
package rows
