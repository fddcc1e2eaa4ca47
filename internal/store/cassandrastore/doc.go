// Package cassandrastore stores the data of Andon in Apache Cassandra 5, for fleets that need more
// than one machine. Several processes may use one keyspace concurrently. It is an andon.Store on
// the packages below it: cql speaks with the cluster, designs finds devices by state, provision
// makes and checks a keyspace, rows lays out and reads what is stored, records has versioned
// documents and the items of the feed, merge concludes from what was read while others write,
// processes knows the others, and planning serves the planner.
//
// There are two kinds of tables, and the code says which kind each is:
//
//   - The truth. events_by_device has the entries with their escalations next to them,
//     assignments_by_device who was assigned when, and latest_by_device the newest entry of each
//     state that a device ever had. Writes merge in any order and any number of times: the write
//     timestamp of a cell is the value that orders it (the time of the entry for the newest entry,
//     the delivery for its content). At equal timestamps Cassandra keeps the greater bytes, so the
//     bytes begin with the value that decides.
//   - Index rows. The directory says which partitions exist; by-state, operator, supervisor and
//     metric rows say where to look. Each hit is checked against the truth, so a stale index row is
//     never visible. A missing one would be a wrong answer, so index rows are written before a
//     write is acknowledged, and deleted only long after they became stale.
//
// # Writing
//
// An append (append.go) takes the slots of its devices, so that the writes of this process to one
// device come one after the other. It reads the views of the devices (view.go), unless this process
// is the only one that writes (package processes) and has them in memory. It then writes,
// concurrently, the log, the newest entries and the index rows, and after those the starts of runs
// and incidents that changed.
//
// Two processes may do so at once with one device. What they write merges by itself. What they
// concluded may be wrong: where the run begins, and that the device left a state. So a process that
// saw a change reviews the device (review.go) after everything that was written concurrently has
// landed (Settle): it corrects starts, makes them final, and deletes the index rows of states that
// the device left. Package merge draws these conclusions. An append that takes longer than half of
// Settle is an error, and a process writes only while the others know of it, so that none is
// missed.
//
// A write that may change what a device shows marks the device, and then appends the difference to
// the feed (changes.go) before it is acknowledged.
//
// A change of severities (reorder.go) and a withdrawal (withdraw.go) begin the next generation:
// what is stored in a former one is computed at reading until it is written again. A tenant or a
// device that is deleted has another key when it comes back (keys.go), and the rows under the
// former key are deleted in the background (purge.go).
//
// # Reading
//
// What one device shows is its view, with starts that are computed from the log where they are not
// final yet. Lists of devices (current.go) merge what the design finds, and show each device as its
// view has it. Lists by operator and supervisor (people.go) go through the hours and days of the
// directory. Counts (counts.go) are kept in memory, and all devices are counted again every
// Options.Recount for what other processes wrote.
package cassandrastore
