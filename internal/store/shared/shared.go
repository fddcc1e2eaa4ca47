// Package shared has the logic of a store on a database to which several processes write at once,
// without locks or transactions between them:
//
//   - the current state of a device, computed from parts that merge in any order (Latest, Start),
//     and the number of devices in each state (Counts);
//   - the devices that must be read again after a change (Reviews);
//   - the other processes that write (Membership), and the devices that a process remembers
//     (Devices);
//   - when a device needs more partitions for a day (Fullness, ShardOf), and how rows of several
//     partitions become one list (Rows, Instants, Merge).
//
// Its input is what the database answered. It must not know a database, its keys or its statements,
// and does no I/O.
package shared
