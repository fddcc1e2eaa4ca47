// Package ddb calls Amazon DynamoDB. With package provision it is the only one that knows the AWS
// SDK.
//
// A Client does the calls of one process: it bounds how many are under way at once, gives each a
// timeout, repeats what the service left unprocessed, counts what was consumed, and writes each
// call into the plan that the context asks for (andon.PlanOf). Its errors are those of package
// andon: Busy where the service throttles, Unavailable where it can't be reached or lacks a table,
// Invalid where an item is too large, and ErrRaced where the condition of a put did not hold.
//
//	client.go       Client, and the one function that all calls go through
//	connect.go      region, endpoint and credentials
//	item.go         items, their attributes and their size
//	model.go        tables and indexes as data
//	read.go         GetItem, BatchGetItem
//	query.go        Query, page by page; Scan
//	write.go        BatchWriteItem, conditional PutItem, UpdateItem, deletion by query
//	consistency.go  strong and eventual reads
//	errors.go       what an error means for the caller
//	meter.go        consumed capacity and failures, for metrics
//
// # Writes
//
// A write that has begun is waited for, also where its client has left: given up, it could still be
// done at any later time. A conditional put carries a nonce. Where the answer to a put is lost, the
// SDK sends it again, and the second put finds the condition broken by the first; Swap then reads
// the item, and takes its own nonce for success.
//
// # Repetitions
//
// There are two. The SDK repeats an attempt that failed on the way or was throttled, up to six
// times. What a batch left unprocessed is sent again by this package, with exponential backoff and
// jitter, up to 14 times; then the error is Busy.
//
// # What it must not know
//
// It must not know devices, entries, tenants or how keys are made, nor keep anything between calls
// except counters. The names of tables are given without the prefix that all of them have.
package ddb
