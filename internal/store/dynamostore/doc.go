// Package dynamostore stores the data of Andon in Amazon DynamoDB, for fleets that need more than
// one machine. It is the only package that knows the AWS SDK. Several processes may use the same
// tables at once.
//
// The truth about a device is one item of the table Devices: what it shows now, folded from its
// entries (package current), with a version. Every write that may change it goes in this order:
//
//  1. the rows: entries, escalations, withdrawals, index rows;
//  2. the item of the device, read, folded and put on the condition that its version is the one
//     that was read. Where another process was faster it is read and folded again.
//
// So the writes to one device have one order, in all processes. A reader of the item and then of
// the rows finds all rows that the item was folded from. A process that ends between the two steps
// leaves rows that were not acknowledged; sending again folds them. No clock decides anything but
// which of two deliveries of one entry stands.
//
// Lists go by global secondary indexes, which follow a moment later. Each hit is held against the
// truth, so a hit that is out of date is never shown.
package dynamostore
