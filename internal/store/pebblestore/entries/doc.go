// Package entries keeps the entries of devices: in memtables while they are new, then in blocks of
// a blocks.Log; and reads them. It must not know andon.Store, requests, retention, or how what a
// device shows is computed. Devices and tenants are numbers here; a current.Fleet translates them.
//
// # Memory
//
// A row in the log of the store has the entries of one request (package layout). Memory has the
// entries of all rows that are not flushed, in two memtables: the live one takes new entries, the
// frozen one is being flushed. Entries are added in the ordered section, from the bytes of their
// row, so that memory has what a restart would read. Where both are full, writes wait.
//
// # A flush
//
// Flush.Freeze, in the ordered section, has new entries go into another memtable. The caller waits
// until the rows before are on the disk. Flush.Write writes the frozen memtable as blocks, the
// days of devices and postings, next to what the caller writes. The caller then commits a synced
// batch that says up to which row entries are flushed, and Flush.End drops the memtable. The
// steps that a crash leaves half done are in the comment of package blocks.
//
// # Reading
//
// Of several deliveries of an entry the newest wins: that of the live memtable, then that of the
// frozen one, then that of the run with the highest sequence. A Reader takes a View of the
// memtables first and opens iterators after that. It reads no more of blocks than an answer needs:
// a day at a time, the newest run first where the newest entries are wanted, and of a block states
// before texts.
package entries
