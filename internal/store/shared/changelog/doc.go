// Package changelog serves the feed of changes of a store that several processes write to: a log of
// numbered items for each tenant, which any of them appends to on a condition.
//
// # The log
//
// Each item has the changes of one or more requests. Item n+1 is inserted on the condition that
// there is none, by a process that has read all items up to n. So the numbers have no gaps, there
// is one order for all processes, and what a read finds is a prefix of all that there will be. A
// position is the random number of the log, the number of the item, and an index in it.
//
// Appending a change again is harmless: each change has the version of what it changed, and a
// process that appends has read the log, so it knows whether the change is there. That also answers
// what came of an insertion whose answer was lost.
//
// # Changes that are made and not in the log yet
//
// A store writes a change together with what it changes, as a Pending, and appends it afterwards.
// The next writer that meets a Pending appends it before it writes, unless it is in the log. So
// Before of a change is After of the previous one, whichever process ends when. A store appends
// what a process left when it reads all devices, which it does periodically.
//
// # Partitions
//
// An item is in the partition <tenant>#<number/1000>. The partition <tenant> has a mark for each of
// those, which is inserted before its first item: the newest mark says where the log ends.
//
// # What it must not know
//
// It must not know a database, nor what makes a device change. It has no clock of its own.
package changelog
