// Package shared has what a store needs on a database to which several processes write at once,
// with neither locks nor transactions between them:
//
//   - what a device shows, worked out from parts that merge by themselves (Latest, Start), and how
//     many devices are in each state (Counts);
//   - which devices are to be looked at again after a change (Reviews);
//   - which other processes write (Membership), and what a process remembers of the devices that it
//     writes to (Devices);
//   - when a device needs more partitions for a day (Fullness, ShardOf), and how rows of several
//     partitions become one list (Rows, Instant).
//
// It is told what the database answered. It must not know a database, its keys or its statements,
// and does no I/O.
package shared
