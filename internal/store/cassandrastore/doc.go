// Package cassandrastore keeps all of Andon in Apache Cassandra 5, for fleets that outgrew one
// machine. It is the only package that knows the CQL driver. Several processes may work on one
// keyspace at once.
//
// What it keeps is of two kinds, and the code says which:
//
//   - The truth. events_by_device has the entries with their escalations beside them,
//     assignments_by_device who was assigned when, and latest_by_device the newest entry of each
//     state that a device ever had. Every write to them merges by itself, in any order and any
//     number of times: the write timestamp of a cell is what it is ordered by (the entry's time
//     for the newest entry, the delivery for its content), and at equal timestamps Cassandra keeps
//     the greater bytes, so the bytes begin with what decides.
//   - Index rows. The directory says which partitions exist; by-state, operator, supervisor and
//     metric rows say where to look. Each hit is checked against the truth: a stale index row is
//     never shown. A missing one would be a wrong answer, so index rows are written before what
//     they lead to counts as kept, and taken away only long after.
//
// An append looks at its devices first (view.go), writes, and where a device changed its state
// looks at it again after everything that was under way has landed (review.go). What follows from
// what was read is in package shared, which knows no Cassandra.
package cassandrastore
