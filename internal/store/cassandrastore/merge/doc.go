// Package merge draws the conclusions of a process from what it read, while other processes write
// to the same keyspace without locks or transactions. It does no I/O and reads no clock.
//
// # What merges
//
// Cassandra keeps, of all writes to a cell, the one with the greatest write timestamp, and at equal
// timestamps the one with the greater bytes. So a value needs no coordination if it is written with
// the timestamp by which it is ordered. A device is stored as values of that kind (Latest):
//
//	the newest entry of each state     the time of the entry, then its delivery
//	retirement, newest assignment      their times
//	start of the run, of the incident  generation, base, first entry, final (Start)
//
// They may be written in any order and any number of times. The newest of the entries is what the
// device shows, and the newest of the others is what its run begins after: the base. An entry that
// arrives late moves a base forward or changes nothing, so a start after an older base is known to
// be out of date.
//
// Two things only a later generation can change (shared.Generation). After a withdrawal the base
// may be an older one. After a change of severities, of two entries at one instant another is the
// newer. What was written in a former generation is not used.
//
// # What is reviewed
//
// A process works from a view that may lack what others write at the same moment. What it writes
// merges, but what it concludes may be wrong in two ways: an earlier entry of the present run may
// be on its way, and a state that the device left may be the one that another process has just
// returned it to. So a start is not final at first, and index rows are not deleted. A process that
// saw a change puts the device into its queue (Reviews), and reads it again when everything that
// was written concurrently has landed: an append takes half of cassandra.settle at most, and the
// review comes after all of it. Then the first entry after the base is looked up in the log, the
// start made final, and index rows of states that the device left are deleted (Latest.Resolve). A
// reader computes a start that is not final, and a reader that finds a device quiet asks for the
// review that a process which ended before owed.
//
// # Who else writes
//
// A process that is the only writer need not read a device again before each append, since what it
// read and wrote is all there is. Membership decides that from rows that each process counts up,
// with times on its own clock only.
//
// The package must not know CQL, tables or keys. Where and how these values are stored is drawn in
// package rows; when they are read and written is decided in package cassandrastore.
package merge
