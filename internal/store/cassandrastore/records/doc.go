// Package records stores what is written by lightweight transactions: versioned JSON documents, for
// andon.Records and for the tenants, and the numbered items of the feeds (Items).
//
// A record is a partition of its own and is written by compare-and-swap, a lightweight transaction:
// writers of different records never meet. What lists records, and what finds those that are due,
// are index rows. They are written before the record and deleted after it, and each hit is checked
// against the record, so a stale one is never visible and a reader that meets it deletes it.
//
// A version is a time in microseconds or more, and only rises. It is the write timestamp of the
// index rows of that version. So deleting those of one version never deletes those of a later one,
// whatever the clocks of the processes say. A deleted record keeps its version for a day, so that a
// record that is made again has greater versions.
//
// Records that are due are in partitions of five minutes and 16 shards (due.go), so that neither
// many records for one instant nor many over time make a large one. The table due_slots says which
// of these partitions exist, and those that are over and empty are deleted from it, so that no
// reader goes through the tombstones of what was due before.
//
// The package knows the keys of tenants, but neither devices nor events.
package records
