// Package items has what the layout andon stores in DynamoDB: tables and indexes, keys, and how a
// device, an entry, a message, a record and an index row are written as an item and read again.
//
//	tables.go, keys.go        tables, indexes, and what each key is made of
//	device.go                 the item of a device
//	event.go, escalation.go   entries and escalation records, and lists of entries in order
//	message.go, indexes.go    readings, and their optional indexes
//	records.go, names.go      documents, withdrawals, items of the log of changes, index rows
//	shards.go                 how many partitions a busy device needs
//
// It does no I/O, except that it merges queries that a caller has made. It must not know in which
// order things are written, nor what a device shows: package current folds entries into it.
package items
