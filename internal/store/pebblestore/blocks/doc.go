// Package blocks keeps the entries of all tenants: in memory until they are flushed, then in blocks
// of a few entries of one device and day. It must not know andon.Store, people, current states, or
// what a reader wants: it knows numbers of tenants and devices, days, and entries.
//
// # What there is
//
// A row in the log of the store has the entries of one request (package layout). Log.Memory has the
// entries of all rows that are not flushed, in two memtables: the live one takes new entries, the
// frozen one is being flushed. A flush writes the frozen memtable as blocks. The blocks of a day
// that one flush wrote are a sorted run (layout.Run); its name is the sequence after the newest row
// that was frozen. Key ranges of two runs do not overlap, so their tables are ingested at the
// engine's lowest level and the engine never compacts them. A device may have blocks in each run of
// a day, so Merge makes few runs of many.
//
// Of several deliveries of an entry the newest wins: that of the live memtable, then that of the
// frozen one, then that of the run with the highest sequence. A reader takes a View of the
// memtables first and opens its iterator after that (Tenant.OpenIterator): a flush that ends in
// between shows it an entry twice, and both are the same; the other way round it would miss the
// entry.
//
// # A flush
//
// Flush calls its caller back with the steps, because only the caller knows the log of rows:
//
//  1. Freeze, in the ordered section. The caller then waits until all rows before are on the
//     disk. A block must not be written earlier: a row that a power cut takes must not come back
//     as a block.
//  2. Write. Tables are ingested, which syncs them, or go through the engine's log if they are
//     small. A run is entered in layout.TableRun before its first block, as of the whole day and
//     uncounted, and again at the end with its own times and its number of entries.
//  3. The caller commits a synced batch that says up to which row entries are flushed, and
//     deletes rows. The log of the engine is written in order, so what Write left there is on
//     the disk too.
//  4. End drops the frozen memtable.
//
// A crash or an error before 3 leaves all rows, and some blocks whose entries the memtable has as
// well. The flush is repeated with a sequence that is as high or higher, so its blocks replace
// those of before or are next to them with equal entries. Nothing is deleted before 3.
//
// # A merge
//
// Merge reads neighbouring runs of a day, all written by flushes that have ended, and makes one of
// them (merge.go). It compares the number of entries that it read with the number that each run
// says it has, and with the number that it wrote. The row of the new run is on the disk, as
// dropped, before the engine ingests its blocks; one synced batch then has the new run take the
// place of the old ones; these are excised after that. A crash leaves the old runs or the new one,
// and the space of runs that are dropped is reclaimed at the next merge.
//
// # Deletion
//
// Exclusively gives a Deletion, whose methods delete a device, the days before one, or a tenant.
// They put deletions into a batch of the caller, who commits it together with what else goes. No
// flush runs meanwhile, so it can't write again what is deleted, and no merge ends: one under way
// that has read deleted blocks leaves the device out of its new run, or is given up. Memory follows
// once the batch is committed; where the deletion fails, nothing has changed.
//
// # Locks
//
// Log.flushing is held by a flush and by a deletion, merges.running by a merge, merges.mu while the
// list of runs changes, Memory.mu while a memtable is read or changed. Package engine has their
// order.
package blocks
