// Package blocks is an engine for values of devices by time: entries, and readings. It keeps them
// in blocks, a few values of one device and day each, and the blocks in sorted runs. It flushes,
// reads, merges and deletes them. It must not know andon.Store, people, current states, or what the
// values are: a Codec, the type parameter of what touches them, encodes, compares and joins them.
//
// # What there is
//
// A Log is the blocks of one kind of values of all tenants. Values that are new are elsewhere, in
// rows of the engine's log and in memory; the packages entries and readings, each of which wraps a
// Log, have them. A flush gathers those values device by device and writes them as blocks. The
// blocks of a day that one flush wrote are a sorted run (layout.Run), which is named by a sequence:
// a later flush has a higher one. Key ranges of two runs do not overlap, so their tables are
// ingested at the engine's lowest level and the engine never compacts them. A device may have
// blocks in each run of a day, so Merge makes few runs of many.
//
// Of several deliveries of a value that of the run with the highest sequence wins, as Codec.Join
// says. What is in memory and in rows is newer than all runs. A reader looks there first and opens
// its Reader after that: a flush that ends in between shows it a value twice, and both are the
// same; the other way round it would miss the value.
//
// # A flush
//
// Flush calls its caller back, because only the caller knows where values come from:
//
//  1. The caller freezes what it flushes, and waits until it is on the disk. A block must not be
//     written earlier: a row that a power cut takes must not come back as a block.
//  2. It writes blocks with a RunWriter into Tables. Tables are ingested, which syncs them, or go
//     through the engine's log if they are small. A run is entered in the table of runs with its
//     first block, as of the whole day and uncounted, and again at the end with its own times and
//     its number of values. The row of the directory comes with a block or before it: a purge finds
//     blocks by the directory, those of a flush that was broken off among them.
//  3. The caller commits a synced batch that says what is flushed, and deletes rows. The log of the
//     engine is written in order, so what step 2 left there is on the disk too.
//  4. Ended has merges take the runs. Then the caller drops what it has in memory.
//
// A crash or an error before 3 leaves all rows, and some blocks whose values the rows have as well.
// The flush is repeated with a sequence that is as high or higher, so its blocks replace those of
// before or are next to them with equal values. Nothing is deleted before 3.
//
// # A merge
//
// Merge reads neighbouring runs of a day, all written by flushes that have ended, and makes one of
// them (merge.go). It compares the number of values that it read with the number that each run says
// it has, and with the number that it wrote. The row of the new run is on the disk, as dropped,
// before the engine ingests its blocks; one synced batch then has the new run take the place of the
// old ones; these are excised after that. A crash leaves the old runs or the new one, and the space
// of runs that are dropped is reclaimed at the next merge.
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
// list of runs changes. Package engine has their order.
package blocks
