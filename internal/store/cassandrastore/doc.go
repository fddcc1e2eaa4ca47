// Package cassandrastore stores the data of Andon in Apache Cassandra 5, for fleets that need more
// than one machine. It is the only package that knows the CQL driver. Several processes may use one
// keyspace at once.
//
// There are two kinds of tables, and the code says which kind each is:
//
//   - The truth. events_by_device has the entries with their escalations beside them,
//     assignments_by_device who was assigned when, and latest_by_device the newest entry of each
//     state that a device ever had. Writes merge in any order and any number of times: the
//     write timestamp of a cell is the value that orders it (the entry's time for the newest entry,
//     the delivery for its content). At equal timestamps Cassandra keeps the greater bytes, so the
//     bytes begin with the value that decides.
//   - Index rows. The directory says which partitions exist; by-state, operator, supervisor and
//     metric rows say where to look. Each hit is checked against the truth, so a stale index row is
//     never visible. A missing one would be a wrong answer, so index rows are written before a
//     write is acknowledged, and deleted only long after they became stale.
//
// An append reads its devices first (view.go), and then writes. If a device changed its state, the
// store reads it again when all concurrent writes have arrived (review.go). Package shared draws
// the conclusions from what was read, and does not know Cassandra.
package cassandrastore
