// Package readings keeps the readings of devices: as rows of the engine while they are new, then in
// blocks of a blocks.Log. It must not know andon.Store, requests, retention, or what a device
// shows. A device is its name here: readings are kept of devices that the store knows nothing else
// of.
//
// # Generations
//
// A message is a row for each of its readings, in the generation of now. Rows are numbered, so
// those of one device and time are next to each other, in the order in which they came: a reading
// is written without reading what is there, and its parts are joined where it is read or flushed.
// Rows need no memtable of ours: they are found in that of the engine.
//
// A flush begins the next generation, under a lock that all writes of rows share. After that all
// rows of the former generations are on the disk, and none is added to them. It writes them as
// blocks, a run for each generation and day, and then one synced batch says which generation is the
// first that is not flushed, and deletes the rows before it. A crash before that leaves rows and
// some of their blocks: both have the same readings, so joining them changes nothing. The flush is
// repeated with the same generations, under the same names of runs. Opening always begins a new
// generation: a message that came into the generation of a broken flush would not be in its run.
//
// # What a reader sees
//
// Of several parts of one reading the metrics of the later delivery win, by generation: that of a
// row, or of the run that a block is in. A Scan opens its iterator of rows before that of blocks,
// so a flush that ends in between shows a reading in both, and never in none. Days come from a
// directory that is written with the rows. Of a day it reads a page at a time: rows first where the
// newest are wanted, and then only blocks that may have what comes before the end of the page. The
// times of runs are in memory, so where rows have enough, no block is looked for.
package readings
