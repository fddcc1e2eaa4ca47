// Package dynamostore stores the data of Andon in Amazon DynamoDB, for fleets that need more than
// one machine. Several processes may use the same tables at once, without knowing of each other.
//
// # One item a device
//
// The truth about a device is one item of the table Devices: what it shows now, folded from its
// entries (package current), with a version. Every write that may change it goes in this order:
//
//  1. the rows: entries, escalations, withdrawals, index rows;
//  2. the item of the device, which is read, folded and put on the condition that its version is
//     the one that was read. If another process was faster it is read and folded again.
//
// So the writes to one device have one order, in all processes. A reader that reads the item and
// then the rows finds all rows that the item was folded from. A process that ends between the two
// steps leaves rows that were not acknowledged; sending them again folds them. No clock decides
// anything except which of two deliveries of one entry wins.
//
// Within a process the writes to one device take turns (shared.Devices), and requests that wait for
// the same device are written together (shared.Joins).
//
// # Where to look
//
//	append.go, readings.go    writing entries and messages, then the item of the device
//	device.go                 the item of a device: update, with its condition
//	changes.go                the change that the item carries, and the log of the feed
//	history.go                what package current asks of the log while it folds
//	events.go, people.go      lists of entries, and how a hit of an index is checked
//	current.go, sorted.go     lists of devices
//	shards.go                 how devices and the keys of indexes are divided
//	escalations.go, assignments.go, corrections.go, records.go, tenants.go
//	metricindex.go, readingindexes.go    the optional indexes of readings
//	sweep.go, scan.go         reading all devices: deletion of what has expired, counts, changes
//	engine.go, options.go     settings
//
// Below it, items has tables, keys and what an item is made of; reference the layout reference;
// planning what a fleet costs; ddb the calls; provision tables and their checks.
//
// # Lists
//
// Lists use global secondary indexes, which lag by a moment. Each hit is checked against its
// device, and read again where that does not prove it, so an outdated hit is never shown. Index
// rows without values (names.go) say which states, names and metrics exist; they are only deleted
// with their tenant.
//
// # What it must not know
//
// It makes no call itself: package ddb knows the AWS SDK, and package provision creates and checks
// tables. It must not know HTTP, nor which process it runs in.
package dynamostore
